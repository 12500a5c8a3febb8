"""Sixty and more odd or broken files: one clear line and code 2, or a reading that says itself."""

import json

import pytest

from broken_files import BROKEN, GOOD_EDGES, GOOD_FEATURES, GOOD_LABELS
from doubtful_files import DOUBTFUL
from elasticgnn.cli.__main__ import main
from odd_files import ODD as WELL_KNOWN
from odd_files import Refused

ODD = {**WELL_KNOWN, **DOUBTFUL}
QUICK = ("--model", "mlp", "--splits", "1", "--epochs", "1", "--hidden", "4", "--json")


def test_there_are_sixty_of_them():
    assert len(BROKEN) + len(ODD) >= 60


@pytest.mark.parametrize("what", ODD)
def test_odd_files_are_read_and_said_or_refused_in_one_line(what, tmp_path, capsys):
    case = ODD[what]
    words = ["train"]
    for name, text in (("edges", GOOD_EDGES), ("features", GOOD_FEATURES), ("labels", GOOD_LABELS)):
        is_odd = name == case.file
        path = tmp_path / f"{name}{case.ending if is_odd else '.csv'}"
        path.write_bytes(case.content if is_odd else text.encode())
        words += [f"--{name}", str(path)]
    with pytest.raises(SystemExit) as stop:
        main([*words, *QUICK])
    printed = capsys.readouterr()
    if isinstance(case.outcome, Refused):
        assert stop.value.code == 2
        assert printed.out == ""
        assert printed.err.startswith("error: ")
        assert printed.err.count("\n") == 1
        assert case.outcome.words in printed.err
        return
    assert not stop.value.code, printed.err
    facts = json.loads(printed.out)
    assert facts["nodes"] == 4
    if isinstance(case.outcome, str):
        assert any(case.outcome in note for note in facts["notes"]), facts["notes"]
