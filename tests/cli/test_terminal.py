"""Ids, classes, titles and paths full of escape sequences, through every command."""

import pytest

from command_tree import COMMANDS
from elasticgnn.cli.__main__ import main
from elasticgnn.cli.say import say, say_exactly

ESCAPE = "\x1b]0;stolen\x07\x1b[2J\u202e"
STUDY = (
    'title = "{title}"\nnotes = ["{title}"]\ndatasets = ["cora"]\n[models.gcn]\nfamily = "gcn"\n'
)
OWN = "--edges F/edges.csv --labels F/labels.csv"
QUICK = "--splits 1 --epochs 2"
CALLS = {
    "demo": ["demo -o F/absent/p.png"],
    "train": [
        f"train {OWN} {QUICK} -o F/again.safetensors",
        "train F/parts --epochs 2 -o F/parts.safetensors",
        "train --edges F/absent.csv",
    ],
    "partition": [
        "partition F/edges.csv --labels F/labels.csv --parts 2 --method blocks -o F/more",
        "partition verify F/parts",
        "partition verify F",
    ],
    "predict": ["predict F/m.safetensors F/edges.csv -o F/p.csv", "predict F/m.safetensors F/x"],
    "data list": ["data list --data-root F"],
    "data info": ["data info F"],
    "data fetch": ["data fetch F --data-root F"],
    "data verify": ["data verify --data-root F"],
    "denoise": ["denoise F/signal.csv F/edges.csv --lambda1 1 -o F/out.csv"],
    "study list": ["study list"],
    "study run": ["study run F/study.toml --storage F --results F"],
    "study status": ["study status F/study.toml --results F"],
    "study table": ["study table F/study.toml --results F --details"],
    "study plot": ["study plot F/study.toml --results F --output F/absent/p.png"],
    "study export": ["study export F/study.toml --results F --output F/exported"],
    "study claims": ["study claims --results F"],
    "study publish": ["study publish --results F --document F/absent.md"],
    "report": ["report --results F --output F/r.html"],
    "attack": [f"attack {OWN} --method random --flips 1 -o F/flips.json"],
    "robustness": ["robustness F --plot F/absent/p.png"],
    "certify": ["certify F/m.safetensors F/edges.csv --labels F/labels.csv --samples 3"],
    "inspect": ["inspect F/m.safetensors F/edges.csv --drop 1 --cleaned F/c.csv"],
    "explain": [
        "explain F/m.safetensors F/edges.csv N",
        "explain F/m.safetensors F/edges.csv F",
    ],
    "export": ["export F/m.safetensors -o F/card --licence mit"],
    "doctor": ["doctor"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of one's own in a folder with a name to fear, a model and a partition of them."""
    home = tmp_path_factory.mktemp("files") / f"f{ESCAPE}"
    home.mkdir()
    names = [f"n{k}{ESCAPE}" for k in range(12)]
    pairs = zip(names, [*names[1:], names[0]], strict=True)
    (home / "edges.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    classes = (f"{name},[bold]c{k % 2}{ESCAPE}\n" for k, name in enumerate(names))
    (home / "labels.csv").write_text("id,label\n" + "".join(classes))
    values = (f"{name},{k}\n" for k, name in enumerate(names))
    (home / "signal.csv").write_text("id,value\n" + "".join(values))
    title = ESCAPE.replace("\x1b", "\\u001b").replace("\x07", "\\u0007")
    (home / "study.toml").write_text(STUDY.format(title=title))
    run(f"train {OWN} {QUICK} -o F/m.safetensors", home)
    run("partition F/edges.csv --labels F/labels.csv --parts 2 --method blocks -o F/parts", home)
    return home


def run(call: str, folder) -> None:
    places = {"F": str(folder), "N": f"n3{ESCAPE}"}
    with pytest.raises(SystemExit):
        main([in_place(word, places) for word in call.split()])


def in_place(word: str, places: dict[str, str]) -> str:
    """The word with the folder or a node's name put in."""
    return next((word.replace(key, value) for key, value in places.items() if key in word), word)


def test_every_command_is_tried():
    assert set(CALLS) == set(COMMANDS)


@pytest.mark.parametrize("command", CALLS)
def test_no_name_steers_the_terminal(folder, capfd, command):
    for call in CALLS[command]:
        run(call, folder)
        out, err = capfd.readouterr()
        assert out + err != ""
        assert "internal error" not in err
        assert not {"\x1b", "\x07", "\u202e"} & set(out + err), call


def test_what_is_said_is_visible_and_tables_for_programs_are_exact(capsys):
    say(f"name {ESCAPE}", end="|")
    say_exactly(f"name {ESCAPE}\n")
    out = capsys.readouterr().out
    assert out == f"name \\x1b]0;stolen\\x07\\x1b[2J\\u202e|name {ESCAPE}\n"
