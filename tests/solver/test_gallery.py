"""Every worked example of docs/gallery runs and draws its picture."""

import importlib.util
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
SMALLER = {
    "image": {"side": 24},
    "sensors": {"count": 120},
    "citation": {},
    "copynumber": {"probes": 200},
    "trend": {"days": 90},
    "houses": {"side": 12},
    "counts": {"side": 14},
}


@pytest.mark.parametrize("name", sorted(path.stem for path in GALLERY.glob("*.py")))
def test_example_draws_its_picture_and_is_certified(name, tmp_path, capsys):
    spec = importlib.util.spec_from_file_location(f"gallery_{name}", GALLERY / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    picture = module.main(tmp_path, **SMALLER[name])
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "certified" in printed
    assert "NOT certified" not in printed


def test_every_example_has_its_picture_and_its_place_in_the_text():
    text = (GALLERY / "README.md").read_text()
    for script in GALLERY.glob("*.py"):
        assert script.name in text
        assert f"{script.stem}.png" in text
        assert script.with_suffix(".png").exists()
