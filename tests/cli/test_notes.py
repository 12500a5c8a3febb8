"""How files were read is said by every command that reads them."""

import pytest

from command_calls import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A ring of two classes with one node beside it, and a model of its features."""
    folder = tmp_path_factory.mktemp("notes")
    nodes = [*(f"n{k}" for k in range(24)), "lonely"]
    edges = [f"{nodes[k]},{nodes[(k + 2) % 24]}" for k in range(24)] + ["n0,n1"]
    (folder / "e.csv").write_text("\n".join(["source,target", *edges]))
    rows = [f"{name},{k % 2},{k}" for k, name in enumerate(nodes)]
    (folder / "f.csv").write_text("\n".join(["id,a,b", *rows]))
    (folder / "more.csv").write_text("\n".join(["id,a,b,new", *(f"{row},3" for row in rows)]))
    labels = [f"{name},{'xy'[k % 2]}" for k, name in enumerate(nodes)]
    (folder / "l.csv").write_text("\n".join(["id,label", *labels]))
    words = ["--splits", 1, "--epochs", 2, "-o", folder / "m.st"]
    assert run("train", *own(folder), *words) == 0
    return folder


def own(folder):
    files = {"--edges": "e.csv", "--features": "f.csv", "--labels": "l.csv"}
    return [word for option, name in files.items() for word in (option, folder / name)]


ASKED = {
    "predict": [],
    "explain": ["n3"],
    "inspect": [],
    "report": ["-o", "page.html"],
    "certify": ["--samples", 2, "--labels", "l.csv"],
}


@pytest.mark.parametrize("command", ASKED)
def test_a_column_that_the_model_does_not_know_is_named(command, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    words = [command, "m.st", "e.csv", *ASKED[command], "--features", "more.csv"]
    assert run(*words) == 0
    printed = capsys.readouterr()
    note = "note: feature columns the model does not know are left out: new"
    assert note in printed.out + printed.err


@pytest.mark.parametrize(
    "words",
    [
        ["attack", "--method", "dice", "--flips", 1],
        ["robustness", "--models", "mlp", "--attacks", "dice", "--rates", 0.1, "--seeds", 1],
    ],
)
def test_nodes_beside_the_largest_component_are_counted(words, folder, capsys):
    epochs = ["--epochs", 2] if words[0] == "robustness" else []
    assert run(*words, *epochs, *own(folder)) == 0
    printed = capsys.readouterr().err
    assert "note: only the largest component is attacked: 24 of 25 nodes" in printed
    assert "note: e.csv: 1 of 25 nodes have no edge" in printed


def test_a_comparison_says_how_files_were_read_before_its_minutes_begin(
    folder, capsys, monkeypatch
):
    def begin(*task, **asked):
        raise ValueError("begun")

    monkeypatch.setattr("elasticgnn.training.tuning.tune", begin)
    assert run("train", *own(folder)) == 2
    printed = capsys.readouterr()
    assert "1 of 25 nodes have no edge" in printed.out
    assert "begun" in printed.err
