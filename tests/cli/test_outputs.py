"""What the commands write: paths are checked before the work, and old files survive a full disk."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from elasticgnn.cli.__main__ import main

SIGNAL = "id,value\n" + "".join(f"{k},{k % 7}\n" for k in range(2000))
EDGES = "a,b\n" + "".join(f"{k},{k + 1}\n" for k in range(1999))

FULL_DISK = (
    "import resource, signal, sys\n"
    "from elasticgnn.cli.__main__ import main\n"
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
    "main(sys.argv[1:])\n"
)


@pytest.fixture
def chain(tmp_path):
    """A signal on a chain, as CSV."""
    (tmp_path / "signal.csv").write_text(SIGNAL)
    (tmp_path / "edges.csv").write_text(EDGES)
    return tmp_path


def run_on_full_disk(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", FULL_DISK, *map(str, arguments)], capture_output=True, text=True
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_denoise_on_a_full_disk_leaves_the_old_file(chain, ending):
    output = chain / f"out.{ending}"
    output.write_text("old")
    before = sorted(path.name for path in chain.iterdir())
    arguments = ["denoise", chain / "signal.csv", chain / "edges.csv", "--lambda1", 1]
    done = run_on_full_disk([*arguments, "-o", output])
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert str(output) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert output.read_text() == "old"
    assert sorted(path.name for path in chain.iterdir()) == before


def test_attack_on_a_full_disk_leaves_the_old_file(tmp_path):
    output = tmp_path / "flips.json"
    output.write_text("old")
    done = run_on_full_disk(["attack", "cora", "--method", "random", "-o", output])
    assert done.returncode == 2, done.stderr
    assert str(output) in done.stderr
    assert output.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["flips.json"]


COMMANDS = {
    "denoise": ["denoise", "signal.csv", "edges.csv", "--lambda1", "1", "-o"],
    "denoise plot": ["denoise", "signal.csv", "edges.csv", "--lambda1", "1", "--plot"],
    "attack": ["attack", "cora", "--method", "random", "-o"],
    "train": ["train", "cora", "-o"],
    "predict": ["predict", "absent.safetensors", "cora", "-o"],
    "inspect": ["inspect", "absent.safetensors", "-o"],
    "inspect cleaned": ["inspect", "absent.safetensors", "--drop", "3", "--cleaned"],
    "robustness": ["robustness", "cora", "--plot"],
    "demo": ["demo", "-o"],
    "study plot": ["study", "plot", "table1", "--output"],
    "study export": ["study", "export", "table1", "--output"],
    "study run": ["study", "run", "table1", "--results"],
    "report": ["report", "--output"],
    "partition": ["partition", "cora", "-o"],
    "certify": ["certify", "absent.safetensors", "-o"],
    "export": ["export", "absent.safetensors", "--licence", "mit", "-o"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    chain, monkeypatch, capsys, command
):
    monkeypatch.chdir(chain)
    forbid_work(monkeypatch)
    Path("file").write_text("a file, not a folder")
    options = COMMANDS[command]
    ending = "png" if {"plot", "--plot", "demo"} & {*options} else "csv"
    with pytest.raises(SystemExit) as ended:
        main([*options, f"file/out.{ending}"])
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert "must be" in message
    assert "got file" in message


@pytest.mark.parametrize("command", ["denoise plot", "robustness", "demo", "study plot"])
def test_a_picture_of_no_known_format_is_refused_before_the_work(
    chain, monkeypatch, capsys, command
):
    monkeypatch.chdir(chain)
    forbid_work(monkeypatch)
    with pytest.raises(SystemExit) as ended:
        main([*COMMANDS[command], "out.tiff"])
    assert ended.value.code == 2
    assert "must end in one of ('.svg', '.png', '.pdf'), got 'out.tiff'" in capsys.readouterr().err


READERS = {  # what each reads, and the option that must not name it
    "denoise": (["denoise", "signal.csv", "edges.csv", "--lambda1", "1", "-o"], ["edges.csv"]),
    "train": (
        ["train", "--edges", "edges.csv", "--features", "f.csv", "--labels", "l.csv", "-o"],
        ["edges.csv", "f.csv", "l.csv"],
    ),
    "train page": (["train", "--edges", "edges.csv", "--report"], ["edges.csv"]),
    "attack": (
        ["attack", "--edges", "edges.csv", "--features", "f.csv", "--labels", "l.csv", "-o"],
        ["edges.csv", "f.csv", "l.csv"],
    ),
    "predict": (
        ["predict", "m.st", "edges.csv", "--features", "f.csv", "-o"],
        ["m.st", "edges.csv", "f.csv"],
    ),
    "certify": (
        ["certify", "m.st", "edges.csv", "--labels", "l.csv", "-o"],
        ["m.st", "edges.csv", "l.csv"],
    ),
    "inspect": (["inspect", "m.st", "edges.csv", "--labels", "l.csv", "-o"], ["m.st", "edges.csv"]),
    "inspect cleaned": (["inspect", "m.st", "edges.csv", "--drop", "1", "--cleaned"], ["m.st"]),
    "report": (["report", "m.st", "edges.csv", "-o"], ["m.st", "edges.csv"]),
}


@pytest.mark.parametrize("command", READERS)
def test_no_output_takes_the_place_of_a_file_that_is_read(chain, monkeypatch, capsys, command):
    monkeypatch.chdir(chain)
    forbid_work(monkeypatch)
    options, inputs = READERS[command]
    for name in ("m.st", "f.csv", "l.csv"):
        Path(name).write_text(name)
    for name in inputs:
        before = Path(name).read_bytes()
        with pytest.raises(SystemExit) as ended:
            main([*options, f"./{name}"])
        assert ended.value.code == 2
        assert f"must not be a file that is read, got {name}" in capsys.readouterr().err
        assert Path(name).read_bytes() == before


@pytest.mark.parametrize("results", ["edges.csv", "absent"])
def test_a_report_about_no_folder_of_results_is_refused(chain, capsys, monkeypatch, results):
    monkeypatch.chdir(chain)
    with pytest.raises(SystemExit) as ended:
        main(["report", "--results", results, "--output", "r.html"])
    assert ended.value.code == 2
    assert f"results must be a folder of stored results, got {results}" in capsys.readouterr().err
    assert not Path("r.html").exists()


def forbid_work(monkeypatch) -> None:
    """Everything that takes time is an error of another kind."""

    def work(*_, **__):
        raise RuntimeError("work began before the output was checked")

    places = (
        "elasticgnn.solver.minimise",
        "elasticgnn.attack.attack",
        "elasticgnn.data.load",
        "elasticgnn.training.TrainedModel.load",
        "elasticgnn.demo.trainings.list_cells",
        "elasticgnn.report.build_table",
    )
    for place in places:
        monkeypatch.setattr(place, work)


def test_an_array_is_written_to_the_very_name_given(chain):
    arguments = ["denoise", chain / "signal.csv", chain / "edges.csv", "--lambda1", "1"]
    with pytest.raises(SystemExit):
        main([*map(str, arguments), "-o", str(chain / "OUT.NPY")])
    assert np.load(chain / "OUT.NPY").shape == (2000, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "cora", "-o", "m.st", "--report", "m.st"], "output and report must be two"),
        (["robustness", "--plot", "p.svg", "--report", "p.svg"], "plot and report must be two"),
        (["report", "m.st", "-o", "p.svg", "--plot", "p.svg"], "output and plot must be two"),
    ],
)
def test_one_place_for_two_outputs_is_refused(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
