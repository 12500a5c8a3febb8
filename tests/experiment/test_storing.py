"""What is kept: curves, splits, cells; and that nobody ever reads half a file."""

import json
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn.experiment import Cell, load_spec
from elasticgnn.experiment.record import RunRecord, pack_curve, unpack_curve
from elasticgnn.experiment.results import (
    Candidate,
    CellResult,
    read_result,
    result_path,
    write_result,
    write_whole,
)
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.tasks import (
    pack_split,
    run_split,
    split_fingerprint,
    toy_task,
    unpack_split,
)
from made_up_records import made_up_record

SPEC = load_spec("table2")
CELL = Cell("cora", 0.05, "l21+l2")


def made_up_result():
    setting = Setting(lambda2=float("inf"), lambda1=0.0)
    runs = tuple(made_up_record(run, test=0.7 + run / 100) for run in range(3))
    candidates = (Candidate(setting, 3, 0.8, 0.71, 2.5), Candidate(Setting(), 3, 0.7, 0.72))
    return CellResult(
        "table2", CELL, SPEC.protocol, "grid", setting, runs, candidates, ({"a": "b"},)
    )


@given(st.lists(st.floats(-50, 50), max_size=60))
def test_a_curve_comes_back_to_three_digits(values):
    assert unpack_curve(pack_curve(values)) == pytest.approx(values, abs=6e-4)


def test_a_curve_of_500_epochs_takes_less_than_a_kilobyte():
    generator = torch.Generator().manual_seed(0)
    noisy = 0.8 + 0.01 * torch.randn(500, generator=generator)
    assert len(pack_curve(noisy.tolist())) < 1000


def test_a_cell_comes_back_from_disk_as_it_was(tmp_path):
    result = made_up_result()
    write_result(tmp_path, SPEC, result)
    assert read_result(tmp_path, SPEC, CELL) == result
    assert read_result(tmp_path, SPEC, Cell("cora", 0.05, "gcn")) is None


def test_stored_results_are_strict_json(tmp_path):
    path = write_result(tmp_path, SPEC, made_up_result())
    strict = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert strict["selected"]["lambda2"] == "inf"


@pytest.mark.parametrize("text", ["{", "{}", '{"format": 1}', "[]"])
def test_a_file_that_is_no_result_is_refused_by_name(tmp_path, text):
    path = result_path(tmp_path, SPEC, CELL)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(ValueError, match=r"result must have format|must be a stored result"):
        read_result(tmp_path, SPEC, CELL)


def test_a_reader_never_sees_half_a_file(tmp_path):
    path, done = tmp_path / "file.json", threading.Event()
    texts = [json.dumps([index] * 20_000) for index in range(2)]
    write_whole(path, texts[0])

    def keep_writing():
        while not done.is_set():
            for text in texts:
                write_whole(path, text)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        assert {path.read_text() in texts for _ in range(200)} == {True}
    finally:
        done.set()
        writer.join()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.json"]


def test_a_split_comes_back_and_its_name_is_its_content():
    task = toy_task(torch.Generator().manual_seed(0))
    first, second = (run_split(task, SPEC.protocol, run) for run in (0, 1))
    packed = pack_split(first, task.num_nodes)
    back = unpack_split(packed)
    assert torch.equal(back.train, first.train.sort().values)
    assert torch.equal(back.test, first.test.sort().values)
    assert split_fingerprint(packed) == split_fingerprint(pack_split(back, task.num_nodes))
    assert split_fingerprint(packed) != split_fingerprint(pack_split(second, task.num_nodes))


def test_a_record_shows_accuracy_in_percent_and_measured_values_as_they_are():
    record = made_up_record(test=0.825, values={"ratio": 1.6})
    assert record.metric("accuracy") == pytest.approx(82.5)
    assert record.metric("ratio") == 1.6
    assert RunRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
