"""What the searches left would take: summed by data set, and put where a page asks for it."""

import json

from elasticgnn.report.costs import costs_text


def spent(study, runs, hours, *groups):
    rows = [{"group": group} for group in groups]
    return {"study": study, "runs": runs, "processor_hours": hours, "groups": rows}


RECORD = {
    "spent": [
        spent("table1", 100, 9.0, "cora 0 gat"),
        spent("table2", 20, 0.5, "cora 0 gcn", "cora 0.1 gcn"),
        spent("table2", 30, 0.75, "pubmed 0 gcn"),
    ],
    "left": [
        {"study": "table1", "group": "cora 0 gat", "left": 60, "hours_left": 0.5},
        {"study": "table1", "group": "cora 0 sage", "left": 3, "hours_left": 0.25},
        {"study": "table2", "group": "cora 0.1 gat", "left": 10, "hours_left": 2.0},
    ],
    "grids": [
        {
            "cell": "cora elastic",
            "trainings": 5760,
            "sampled": 64,
            "sampled_epochs": 200.0,
            "sampled_processor_seconds": 40.0,
            "processor_hours": 1.0,
        }
    ],
    "profiles": [{"cell": "cora gcn", "epochs": 20, "shares": {"aten::mm": 60.2, "other": 9.0}}],
}


def test_hours_are_summed_by_study_and_data_set(tmp_path):
    (tmp_path / "costs.json").write_text(json.dumps(RECORD))
    text = costs_text(tmp_path)
    assert "Left: 73 trainings, 2.8 processor hours." in text
    assert "recorded: table1, 9.0 processor hours for 100 trainings (cora)." in text
    assert "recorded: table2, 1.2 processor hours for 50 trainings (cora, pubmed)." in text
    assert "| table1 | cora | 63 | 0.75 |" in text
    assert "| table2 | cora | 10 | 2.00 |" in text
    assert "60 processor minutes, 30 minutes on two cores, from 64 trainings" in text
    assert "An epoch of cora gcn, by operations: aten::mm 60 %, other 9 %." in text


def test_without_a_record_nothing_is_made_up(tmp_path):
    assert costs_text(tmp_path) == "Not estimated yet."
