"""Stored results that no training made, for all studies."""

import math

import pytest

from elasticgnn.experiment import cells, load_spec, spec_names
from elasticgnn.experiment.results import Candidate, CellResult, write_result, write_split
from elasticgnn.experiment.setting import Setting
from made_up_records import made_up_record

ENVIRONMENT = {"elasticgnn": "0", "torch": "2", "python": "3", "revision": "abc"}


def made_up_cell(spec, cell):
    """Ten runs near the paper's number, one of ten cells far above, one far below."""
    paper = spec.paper.get((cell.dataset, cell.model, cell.level))
    centre = paper.mean if paper else 70.0 + min(cell.level, 8)
    shift = {"gat": 12.0, "l1": -9.0}.get(cell.model, 0.3)
    records = []
    for run in range(10):
        value = centre + shift + 0.2 * math.sin(run)
        values = {"ratio": value, "sparse": value}
        series = {"objective": tuple(5.0 + 3.0 * 0.7**step for step in range(20))}
        records.append(made_up_record(run, 0.8, value / 100, 30, values, series))
    candidates = tuple(Candidate(s, 10, 0.8, 0.7) for s in spec.model(cell.model).settings[:3])
    return CellResult(
        spec.pool,
        cell,
        spec.protocol,
        "grid",
        Setting(),
        tuple(records),
        candidates,
        (ENVIRONMENT,),
    )


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A folder with results of every study, PubMed's missing."""
    folder = tmp_path_factory.mktemp("results")
    for name in spec_names():
        spec = load_spec(name)
        for cell in cells(spec):
            if cell.dataset != "pubmed":
                write_result(folder, spec, made_up_cell(spec, cell))
    for run in range(10):
        write_split(folder, "cora", f"{run:012x}", "eJwDAAAAAAE=")
    return folder
