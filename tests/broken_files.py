"""Ways in which a person's CSV files can be broken, and what must be said about each."""

GOOD_EDGES = "source,target,weight\nann,bob,1\nbob,cy,2\ncy,dan,1\n"
GOOD_FEATURES = "id,size,age\nann,1,2\nbob,3,4\ncy,5,6\ndan,7,8\n"
GOOD_LABELS = "id,label\nann,red\nbob,blue\ncy,red\n"

# what is broken: (file, its content, what the message must say after the file's name)
BROKEN = {
    "unknown id in the edges": (
        "edges",
        GOOD_EDGES + "dan,eve,1\n",
        r", row 5, column 'target': .*got 'eve'",
    ),
    "unknown id in the labels": (
        "labels",
        GOOD_LABELS + "eve,red\n",
        r", row 5, column 'id': the node must be in .*got 'eve'",
    ),
    "no known id in the labels": (
        "labels",
        "id,label\nx,red\ny,blue\n",
        r" must label nodes of .*no id in common",
    ),
    "duplicate label rows": (
        "labels",
        GOOD_LABELS + "ann,red\n",
        r", row 5, column 'id': each node .*row 2 has it",
    ),
    "contradicting label rows": (
        "labels",
        GOOD_LABELS + "ann,blue\n",
        r", row 5, .*row 2 has it too\), got 'ann'",
    ),
    "duplicate feature rows": (
        "features",
        GOOD_FEATURES + "bob,1,1\n",
        r", row 6, column 'id': .*row 3 has it too",
    ),
    "features without ids": (
        "features",
        "height,age\n1,6\n1,8\n2,7\n",
        r", row 3, column 'height': .*row 2 has it too; --id-column names another column of ids",
    ),
    "feature that is infinite": (
        "features",
        GOOD_FEATURES.replace("6", "inf"),
        r", row 4, column 'age': .*got 'inf'",
    ),
    "feature beyond float32": (
        "features",
        GOOD_FEATURES.replace("6", "1e99"),
        r", row 4, column 'age': .*'1e99'",
    ),
    "feature that is a word": (
        "features",
        GOOD_FEATURES.replace("8", "old"),
        r", row 5, column 'age': .*got 'old'",
    ),
    "feature that is a date": (
        "features",
        "id,since\nann,2020-01-31\nbob,2021-02-01\ncy,2020-05-05\ndan,2020-12-24\n",
        r", row 2, column 'since': a date must be given as a number .*got '2020-01-31'",
    ),
    "weight that is a word": (
        "edges",
        GOOD_EDGES.replace("2", "two"),
        r", row 3, column 'weight': .*number, got 'two'",
    ),
    "weight below zero": (
        "edges",
        GOOD_EDGES.replace("2", "-2"),
        r", row 3, column 'weight': .*>= 0, got '-2'",
    ),
    "weight that is NaN": (
        "edges",
        GOOD_EDGES.replace("2", "NaN"),
        r", row 3, column 'weight': .*got 'NaN'",
    ),
    "weight that is missing": (
        "edges",
        GOOD_EDGES.replace("2", ""),
        r", row 3, column 'weight': .*got ''",
    ),
    "one class": (
        "labels",
        GOOD_LABELS.replace("blue", "red"),
        r", column 'label': must name at least 2 classes, got only 'red'",
    ),
    "no class at all": (
        "labels",
        "id,label\nann,\nbob,\n",
        r", column 'label': must name at least 2 classes, got none",
    ),
    "empty edge file": ("edges", "", r" must have rows, got an empty file"),
    "empty label file": ("labels", "", r" must have rows, got an empty file"),
    "blank lines only": ("edges", "\n\n  \n", r" must have rows, got only blank lines"),
    "edge file with a header only": (
        "edges",
        "source,target\n",
        r" must have rows below the header, got none",
    ),
    "label file with a header only": (
        "labels",
        "id,label\n",
        r" must have rows below the header, got none",
    ),
    "blanks between columns": (
        "labels",
        "id label\nann red\n",
        r", row 1: columns must be separated by commas, got one column 'id label'",
    ),
    "missing target column": (
        "edges",
        "source,weight\nann,1\n",
        r", row 1: the header must name the columns 'source' and 'target'",
    ),
    "too many nameless columns": (
        "edges",
        "ann,bob,1,2\nbob,cy,1,2\n",
        r", row 1: columns must be source, target",
    ),
    "a ragged row": (
        "edges",
        GOOD_EDGES + "dan,ann\n",
        r", row 5: must have 3 columns like row 1, got 2",
    ),
    "two columns of one name": (
        "features",
        GOOD_FEATURES.replace("age", "size"),
        r", row 1: column names must differ, got 'size' twice",
    ),
    "an id that is missing": (
        "edges",
        GOOD_EDGES + ",ann,1\n",
        r", row 5, column 'source': a node id must be there",
    ),
    "an open quote": (
        "edges",
        GOOD_EDGES + '"dan,ann,1\n',
        r", row 5: a quote must be closed, got one before 'dan,ann,1'",
    ),
    "binary junk": ("edges", bytes(range(256)) * 8, r" must be a text file, got binary content"),
    "a compressed file": (
        "labels",
        b"\x1f\x8b\x08\x08abcd\x00\x03",
        r" must be a text file, got binary content",
    ),
    "a million columns above two": (
        "edges",
        ",".join(f"c{k}" for k in range(10**6)) + "\nann,bob\n",
        r", row 2: must have 1000000 columns like row 1, got 2",
    ),
    "a million columns alone": (
        "edges",
        ",".join(f"c{k}" for k in range(10**6)),
        r", row 1: columns must be source, target.*got 1000000 columns",
    ),
    "a million label columns": (
        "labels",
        ",".join(f"c{k}" for k in range(10**6)) + "\n",
        r", row 1: columns must be id and label",
    ),
    "one endless cell": (
        "edges",
        "source,target\n" + "a" * 200_000 + ",bob\n",
        r", row 2: must be plain CSV, got: field larger",
    ),
    "only self-loops": (
        "edges",
        "ann,ann\nbob,bob\n",
        r" must join different nodes, got only self-loops",
    ),
    "three label columns without a name": (
        "labels",
        "ann,red,x\nbob,blue,y\n",
        r", row 1: columns must be id and label.*got 3 columns",
    ),
}


def write_with(folder, file, content):
    """Paths of edges, features and labels: the good files with one of them replaced."""
    good = {"edges": GOOD_EDGES, "features": GOOD_FEATURES, "labels": GOOD_LABELS}
    paths = []
    for name, text in {**good, file: content}.items():
        paths.append(folder / f"{name}.csv")
        paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths
