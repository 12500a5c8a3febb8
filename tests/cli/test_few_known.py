"""Labels that teach nothing: one known class, or number, is enough for `inspect` and `report`."""

import pytest

from command_calls import run

RING = "source,target\n" + "".join(f"n{k},n{(k + 1) % 60}\n" for k in range(60))
FEATURES = "id,size\n" + "".join(f"n{k},{k % 7}\n" for k in range(60))
LABELS = {
    "class": "".join(f"n{k},{'low' if k % 7 < 3 else 'high'}\n" for k in range(60)),
    "number": "".join(f"n{k},{k % 7}.5\n" for k in range(60)),
}
SETTINGS = {
    "class": ("--epochs", 2, "--splits", 1),
    "number": ("--target", "number", "--minutes", 0.001),
}


@pytest.mark.parametrize("kind", LABELS)
def test_one_of_a_kind_is_enough_where_nothing_is_learned(kind, tmp_path, capsys):
    edges, features, labels, one, none = (
        tmp_path / f"{name}.csv" for name in ("edges", "features", "labels", "one", "none")
    )
    edges.write_text(RING)
    features.write_text(FEATURES)
    labels.write_text("id,label\n" + LABELS[kind])
    one.write_text("id,label\n" + LABELS[kind].splitlines()[3] + "\n")
    none.write_text("id,label\nn3,\n")
    where = (edges, "--features", features)
    model, page = tmp_path / "m.safetensors", tmp_path / "p.html"
    own = ("--edges", *where, "--labels", labels)
    assert run("train", *own, *SETTINGS[kind], "-o", model) == 0
    assert run("inspect", model, *where, "--labels", one, "-o", tmp_path / "r.csv") == 0
    assert run("report", model, *where, "--labels", one, "-o", page) == 0
    capsys.readouterr()
    assert run("inspect", model, *where, "--labels", none) == 2
    what = {"class": "name at least 1 class", "number": "hold at least 1 number"}[kind]
    assert what in capsys.readouterr().err
    more = SETTINGS[kind]
    assert run("train", "--edges", *where, "--labels", one, *more) == 2
    what = {"class": "name at least 2 classes", "number": "hold at least 2 different"}[kind]
    assert what in capsys.readouterr().err
