"""Partition folders: whole, the same task again, refused when changed, resumed when unfinished."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import parquet

from distributed_work import small_graph, small_task
from elasticgnn import Graph
from elasticgnn.cli.__main__ import main
from elasticgnn.data import NodeTask
from elasticgnn.distributed import PartitionFolder, verify_partition, write_partition
from elasticgnn.distributed.edge_store import merge_file
from elasticgnn.distributed.file_source import partition_files
from elasticgnn.distributed.noise import PartNoise
from elasticgnn.features import DropoutNoise, feature_product


@pytest.fixture(params=["dense", "sparse"])
def folder(request, tmp_path):
    write_partition(small_task(sparse=request.param == "sparse"), tmp_path / "parts", parts=5)
    return tmp_path / "parts"


def test_all_parts_together_are_the_task_again(folder):
    found = PartitionFolder(folder).task()
    expected = small_task(sparse=PartitionFolder(folder).manifest.sparse)
    assert found.fingerprint == expected.fingerprint == verify_partition(folder).fingerprint
    assert torch.equal(found.labels, expected.labels)


def test_splits_are_those_of_the_single_process(folder):
    from elasticgnn.data import paper_split

    drawn = paper_split(small_task(), torch.Generator().manual_seed(4))
    found = PartitionFolder(folder).split(4)
    assert torch.equal(found.train, drawn.train)
    assert torch.equal(found.test, drawn.test)


def test_dropout_of_a_part_is_that_of_its_rows_in_the_whole_matrix(folder):
    opened = PartitionFolder(folder)
    task = opened.task()
    weight = torch.eye(task.num_features)
    whole = feature_product(task.features, weight, DropoutNoise(7, 3), 0.4)
    for number in range(5):
        part = opened.features(number)
        noise = PartNoise(7, 3, part=part)
        assert torch.equal(feature_product(part.rows, weight, noise, 0.4), whole[part.nodes])
        hidden = torch.ones(task.num_nodes, 9)
        expected = DropoutNoise(7, 3)(hidden, 0.4, 1)[part.nodes]
        assert torch.equal(noise(hidden[part.nodes], 0.4, 1), expected)


@pytest.mark.parametrize("name", ["part-00002/neighbour.npy", "labels.npy", "assignment.npy"])
def test_a_changed_folder_is_refused(folder, name):
    path = folder / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"must have SHA-256 .* was changed"):
        verify_partition(folder)
    opened = PartitionFolder(folder)
    with pytest.raises(ValueError, match="was changed"):
        _ = opened.graph(), opened.labels
    path.unlink()
    with pytest.raises(ValueError, match="must be there"):
        verify_partition(folder)


def test_an_unfinished_folder_is_refused_and_a_second_call_finishes_it(folder):
    before = verify_partition(folder)
    (folder / "manifest.json").unlink()
    (folder / "part-00003/part.json").unlink()
    (folder / "part-00003/start.npy").write_bytes(b"half")
    kept = (folder / "part-00001/nodes.npy").stat().st_mtime_ns
    with pytest.raises(ValueError, match="unfinished"):
        PartitionFolder(folder)
    write_partition(small_task(sparse=before.sparse), folder, parts=5)
    assert verify_partition(folder) == before
    assert (folder / "part-00001/nodes.npy").stat().st_mtime_ns == kept


def test_a_folder_of_something_else_is_refused(tmp_path, folder):
    with pytest.raises(ValueError, match="output must be an empty folder or this same partition"):
        write_partition(small_task(), folder, parts=4)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="output must be an empty folder"):
        write_partition(small_task(), tmp_path / "mine", parts=4)


def read_graph(path, num_nodes):
    """The graph of an edge file, sorted and merged in a folder beside it."""
    with TemporaryDirectory(dir=path.parent) as workshop:
        store = merge_file(path, num_nodes, Path(workshop))
        pieces = list(store.pieces())
        index = np.stack([np.concatenate([piece[k] for piece in pieces]) for k in range(2)])
        weight = np.concatenate([store.weight_of(piece) for piece in pieces])
        graph = Graph.from_edge_index(
            torch.from_numpy(index), num_nodes, torch.from_numpy(weight), undirected=True
        )
        assert store.fingerprint == graph.fingerprint
        assert store.num_edges == graph.num_edges
        assert store.is_unit == graph.is_unweighted
        degree = np.diff(graph._slots.start.numpy())
        assert np.array_equal(store.degree, degree)
        assert (np.diff(index[0] * num_nodes + index[1]) > 0).all()
    return graph


@pytest.fixture(params=[(17, 9), (1 << 20, 1 << 20)], ids=["many buckets", "one bucket"])
def small_memory(request, monkeypatch):
    """Chunks and buckets of a few rows, or all rows at once."""
    monkeypatch.setattr("elasticgnn.distributed.large_edges.CHUNK", request.param[0])
    monkeypatch.setattr("elasticgnn.distributed.edge_store.BUCKET", request.param[1])
    monkeypatch.setattr("elasticgnn.distributed.file_source.ROWS", request.param[1])


def test_edges_in_arrays_are_merged_on_the_disk_like_any_graph(tmp_path, small_memory):
    graph = small_graph()
    once = torch.stack([graph.tail, graph.head]).numpy()
    loops = np.array([[3], [3]])
    mixed = once[:, np.random.default_rng(0).permutation(once.shape[1])]
    for rows in (
        once,
        mixed[::-1],
        np.concatenate([once, mixed[::-1]], 1).T,
        np.concatenate([once, loops], 1).astype(np.uint16),
    ):
        np.save(tmp_path / "edges.npy", rows)
        assert read_graph(tmp_path / "edges.npy", 46) == graph
    np.save(tmp_path / "edges.npy", np.concatenate([once, once[:, :1]], 1))
    double = graph.weight.clone()
    double[0] = 2
    assert read_graph(tmp_path / "edges.npy", 46) == graph.with_weight(double)
    with pytest.raises(ValueError, match=r"must name nodes 0\.\.9"):
        read_graph(tmp_path / "edges.npy", 10)


@pytest.mark.parametrize("method", ["metis", "clusters", "blocks"])
@pytest.mark.parametrize("repeated", [False, True], ids=["unit", "weighted"])
def test_files_give_the_folder_of_the_task_in_memory(tmp_path, small_memory, method, repeated):
    graph, files = small_graph(), save_files(tmp_path)
    if repeated:
        rows = np.load(files[0])
        np.save(files[0], np.concatenate([rows, rows[:, 3:9]], 1))
        graph = read_graph(files[0], 46)
    features, labels = (torch.from_numpy(np.load(file)) for file in files[1:])
    task = NodeTask("edges", graph, features, labels, ("0", "1"))
    kinds = {"parts": 5, "method": method}
    expected = write_partition(task, tmp_path / "memory", own_files=True, **kinds)
    assert partition_files(*files, tmp_path / "disk", **kinds) == expected
    assert verify_partition(tmp_path / "disk").fingerprint == task.fingerprint
    assert not (tmp_path / "disk" / "merge").exists()


def save_files(folder):
    """The small graph with features and labels as .npy files."""
    graph, generator = small_graph(), np.random.default_rng(5)
    files = [folder / f"{name}.npy" for name in ("edges", "x", "y")]
    np.save(files[0], torch.stack([graph.tail, graph.head]).numpy())
    np.save(files[1], generator.random((46, 3), dtype=np.float32))
    np.save(files[2], np.arange(46) % 2)
    return files


def test_killed_merge_is_begun_again_and_a_foreign_folder_stays_untouched(tmp_path):
    files, parts = save_files(tmp_path), tmp_path / "parts"
    (parts / "merge").mkdir(parents=True)
    (parts / "merge" / "bucket-00000.key").write_bytes(bytes(80))
    assert partition_files(*files, parts, parts=3).num_edges == small_graph().num_edges
    (tmp_path / "mine" / "merge").mkdir(parents=True)
    (tmp_path / "mine" / "merge" / "notes.txt").write_text("mine")
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="output must be an empty folder"):
        partition_files(*files, tmp_path / "mine", parts=3)
    assert (tmp_path / "mine" / "merge" / "notes.txt").exists()


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("x", np.ones((46, 3, 1), dtype=np.float32), "features must be"),
        (
            "x",
            np.full((46, 3), np.nan, dtype=np.float32),
            "features must be finite, got nan in row",
        ),
        ("y", np.full(46, 0.5), r"y\.npy must be \(46,\) whole numbers"),
        ("y", np.zeros(45, dtype=np.int64), r"y\.npy must be \(46,\) whole numbers"),
        ("y", np.full(46, -2), "labels must be in"),
        ("edges", np.array([[0], [46]]), r"edges\.npy must name nodes 0\.\.45"),
        ("edges", np.array([[-1], [4]]), r"edges\.npy must name nodes 0\.\.45"),
        ("edges", np.zeros((3, 4), dtype=np.int64), r"edges\.npy must be \(2, E\)"),
    ],
)
def test_files_that_do_not_fit_are_refused_and_leave_nothing(tmp_path, name, array, message):
    files = save_files(tmp_path)
    np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(ValueError, match=message):
        partition_files(*files, tmp_path / "parts", parts=3)
    assert not (tmp_path / "parts").exists()


def test_command_partitions_own_files_and_says_what_is_wrong(tmp_path, capsys):
    graph = small_graph()
    np.save(tmp_path / "edges.npy", torch.stack([graph.tail, graph.head]).numpy())
    np.save(tmp_path / "x.npy", np.ones((46, 3), dtype=np.float32))
    np.save(tmp_path / "y.npy", np.arange(46) % 2)
    files = ["--features", str(tmp_path / "x.npy"), "--labels", str(tmp_path / "y.npy")]
    parts = str(tmp_path / "parts")
    command = ["partition", str(tmp_path / "edges.npy"), *files, "--parts", "4", "-o", parts]
    run(command)
    run(["partition", "verify", parts, "--json"])
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["parts"], found["edges"], found["state"]) == (4, graph.num_edges, "verified")
    for arguments, message in (
        ([*command[:-1], str(tmp_path / "other"), "--parts", "99"], "parts must be"),
        ([*command, "--method", "magic"], "method must be one of"),
        (["partition", "verify"], "folder must be given"),
        (["partition", "verify", str(tmp_path)], "must be a finished partition folder"),
        (["train", str(tmp_path)], "must be a finished partition folder"),
        (["train", parts, "--model", "gat"], "model must be one of"),
    ):
        assert run(arguments) == 2
        assert message in capsys.readouterr().err


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0)


PARQUET = {
    "a weight": {"source": [0], "target": [1], "weight": [2.0]},
    "no target": {"source": [0], "goal": [1]},
    "an empty cell": {"source": [0, None], "target": [1, 2]},
    "names": {"source": ["0"], "target": ["1"]},
}


@pytest.mark.parametrize("columns", PARQUET.values(), ids=PARQUET.keys())
def test_parquet_edges_that_would_be_misread_are_refused(tmp_path, columns):
    path = tmp_path / "edges.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(ValueError, match=r"edges\.parquet must (have the columns|name)"):
        read_graph(path, 3)


def test_parquet_edges_are_those_of_the_array(tmp_path):
    graph = small_graph()
    pairs = {"target": graph.head.numpy(), "source": graph.tail.numpy()}
    parquet.write_table(pyarrow.table(pairs), tmp_path / "edges.parquet")
    assert read_graph(tmp_path / "edges.parquet", 46) == graph


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': '<i8', ", "must be a numpy .npy file"),
        (b"\x93NUMPY\x01\x00\x02\x00((", "must be a numpy .npy file"),
        (b"no array", "must be a numpy .npy file"),
    ],
)
def test_large_edges_that_are_damaged_are_refused_by_name(tmp_path, content, reason):
    (tmp_path / "edges.npy").write_bytes(content)
    with pytest.raises(ValueError, match=rf"edges\.npy {reason}"):
        read_graph(tmp_path / "edges.npy", 5)
