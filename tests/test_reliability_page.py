"""The page on reliability says what the records say."""

import importlib.util
import json
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent


FOLDER = ROOT / "scripts" / "reliability"


def load(name: str, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def records() -> dict[str, dict]:
    place = next(ROOT.glob("*results/**/reliability/fuzz.json"), None)
    place = (place or next(ROOT.glob("results/reliability/fuzz.json"))).parent
    names = ("fuzz", "faults", "mutants", "threads", "addresses")
    return {name: json.loads((place / f"{name}.json").read_text()) for name in names}


def test_the_page_says_what_the_records_say():
    page = " ".join((ROOT / "docs" / "reliability.md").read_text().split())
    found = records()
    kills = [part for key, part in found["faults"].items() if key.startswith("killed")]
    stops = [part for key, part in found["faults"].items() if key.startswith("interrupted")]
    mutants = found["mutants"]
    outcomes = Counter(fault["outcome"] for fault in mutants["faults"])
    killed = outcomes["killed"] + outcomes["no end"]
    tried = sum(outcomes.values())
    fuzz = found["fuzz"]
    for sentence in (
        f"{sum(part['kills'] for part in kills)} kills over {len(kills)} commands",
        f"{sum(part['broken'] for part in kills)} broken or missing outputs",
        f"{sum(part['interrupts'] for part in stops)} interrupts over {len(stops)} commands",
        f"{sum(part['broken'] + part['leftovers'] for part in stops)} left otherwise",
        f"at most {max(part['processor_seconds'] for part in stops)} processor seconds",
        f"{fuzz['mutants']:,} mutants of {len(fuzz['formats'])} formats, "
        f"{len(fuzz['failures'])} failures",
        f"{tried} of {mutants['known']:,} faults tried, {killed} killed",
        f"{outcomes['equivalent']} equivalent",
        f"{killed / (tried - outcomes['equivalent']):.1%} of the others",
        f"{found['threads']['passed']} tests passed with {found['threads']['reports']} reports",
        f"{found['addresses']['passed']:,} tests passed (`results/reliability/addresses.json`)",
    ):
        assert sentence in page


def test_every_folder_has_enough_faults_and_tests_that_are_there(monkeypatch):
    mutants = load("mutants", monkeypatch)
    for folder in mutants.FOLDERS:
        assert len(mutants.drawn(folder, mutants.COUNT)) == mutants.COUNT
        assert all(path.is_file() for path in mutants.test_files(folder))


def test_reasons_are_given_for_faults_of_files_that_exist(monkeypatch):
    mutants = load("mutants", monkeypatch)
    for (file, *_), reason in mutants.equivalent().items():
        assert (mutants.SOURCE / file).is_file()
        assert len(reason) > 20
