"""Tables of one's own, written for a test."""


def write_tables(folder, **files):
    """Paths of CSV files by name, with these texts."""
    paths = {}
    for name, text in files.items():
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text(text)
    return paths
