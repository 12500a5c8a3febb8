"""Every data set by name: the paper's numbers come out, and Cora needs no file at all."""

import hashlib
import json
import shutil
from importlib.resources import files

import numpy as np
import pytest
import torch

from elasticgnn.data import NodeTask, catalogue, load, paper_split
from elasticgnn.data.catalogue import Statistics, find_data_set
from elasticgnn.data.files import known_digests

# Nodes, edges, features, classes: the paper's two appendix tables (PubMed's second line counts
# 44,338 list entries there, of which 14 are repetitions or self-loops: 44,324 edges).
PAPER = {
    "cora": (2708, 5278, 1433, 7),
    "cora-planetoid": (2708, 5278, 1433, 7),
    "citeseer": (3327, 4552, 3703, 6),
    "pubmed": (19717, 44324, 500, 3),
    "coauthor-cs": (18333, 81894, 6805, 15),
    "coauthor-physics": (34493, 247962, 8415, 5),
    "amazon-computers": (13381, 245778, 767, 10),
    "amazon-photo": (7487, 119043, 745, 8),
    "polblogs": (1222, 16714, 1490, 2),
    "cora-meta-0": (2485, 5069, 1433, 7),
    "citeseer-meta-0": (2110, 3668, 3703, 6),
    "polblogs-meta-0": (1222, 16714, 1490, 2),
    "pubmed-meta-0": (19717, 44324, 500, 3),
}
SPLITS = {
    "cora": (247, 249, 1988),
    "citeseer": (210, 211, 1688),
    "polblogs": (121, 123, 978),
    "pubmed": (1971, 1972, 15774),
}
# Edges (added, removed) by Metattack at 5, 10, 15, 20 and 25 percent.
CHANGES = {
    "cora": [(253, 0), (502, 4), (750, 10), (992, 21), (1222, 45)],
    "citeseer": [(183, 0), (365, 1), (539, 11), (720, 13), (899, 18)],
    "polblogs": [(735, 100), (1385, 286), (1962, 545), (2211, 1131), (2550, 1628)],
    "pubmed": [(2216, 0), (4432, 0), (6648, 0), (8864, 0), (11076, 5)],
}
RATES = ("0.05", "0.1", "0.15", "0.2", "0.25")


def statistics(task):
    return Statistics(task.num_nodes, task.graph.num_edges, task.num_features, task.num_classes)


def edge_keys(task):
    return set((task.graph.tail * task.num_nodes + task.graph.head).tolist())


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", PAPER)
def test_sizes_equal_the_papers_tables(name, data_root):
    task = load(name, root=data_root)
    assert statistics(task) == Statistics(*PAPER[name]) == catalogue()[name].statistics
    assert task.name == name
    assert task.graph.is_unweighted


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_rows_of_the_citation_graphs_sum_to_one(name, data_root):
    features = load(name, root=data_root).features
    sums = features.to_dense().sum(1)
    present = features.start.diff() > 0
    torch.testing.assert_close(sums[present], torch.ones(int(present.sum())), rtol=0, atol=1e-4)


@pytest.mark.parametrize("base", SPLITS)
def test_attacked_graphs_differ_from_the_clean_one_as_documented(base, data_root):
    clean = load(f"{base}-meta-0", root=data_root)
    for rate, (added, removed) in zip(RATES, CHANGES[base], strict=True):
        task = load(f"{base}-meta-{rate}", root=data_root)
        assert statistics(task) == catalogue()[task.name].statistics
        assert len(edge_keys(task) - edge_keys(clean)) == added
        assert len(edge_keys(clean) - edge_keys(task)) == removed
        assert torch.equal(task.labels, clean.labels)
        assert paper_split(task, seeded()).sizes == SPLITS[base]
        assert paper_split(task, seeded()).to_lists() == clean.split.to_lists()


def test_attacked_features_are_not_normalised_and_polblogs_has_the_identity(data_root):
    assert set(load("cora-meta-0.1", root=data_root).features.value.tolist()) == {1.0}
    pubmed = load("pubmed-meta-0.1", root=data_root)
    assert float(pubmed.features.value.max()) > 1.2
    polblogs = load("polblogs-meta-0", root=data_root)
    assert polblogs.features.column.tolist() == sorted(set(polblogs.features.column.tolist()))
    assert set(polblogs.features.value.tolist()) == {1.0}


def test_counts_become_presence(data_root):
    features = load("coauthor-cs", root=data_root, normalize_features=False).features
    assert set(features.value.tolist()) == {1.0}


def test_citeseers_fifteen_lost_nodes_have_edges_but_neither_features_nor_labels(data_root):
    task = load("citeseer", root=data_root)
    lost = (task.labels < 0).nonzero().flatten()
    assert len(lost) == 15
    assert int((task.features.start.diff()[lost]).sum()) == 0
    assert set(lost.tolist()) & set(task.graph.tail.tolist() + task.graph.head.tolist())


@pytest.mark.parametrize(
    ("name", "train"), [("cora-planetoid", 140), ("citeseer", 120), ("pubmed", 60)]
)
def test_planetoid_data_bring_their_public_split(name, train, data_root):
    task = load(name, root=data_root)
    assert task.split.sizes == (train, 500, 1000)
    assert torch.bincount(task.labels[task.split.train]).tolist() == [20] * task.num_classes
    assert paper_split(task, seeded()).sizes == (train, 500, 1000)
    drawn = paper_split(task, seeded()).train.tolist()
    assert sorted(drawn) != sorted(task.split.train.tolist())


def copy_raw(names, data_root, folder):
    """The files where torch_geometric looks for them."""
    folder.mkdir(parents=True)
    for name in names:
        shutil.copy(data_root / name, folder)


def assert_same_data(task, data):
    assert edge_keys(NodeTask.from_pyg(data)) == edge_keys(task)
    assert torch.equal(data.x, task.features.to_dense())
    known = task.labels >= 0
    assert torch.equal(data.y[known], task.labels[known])


def test_torch_geometric_reads_the_same_planetoid_data(data_root, tmp_path):
    from torch_geometric.datasets import Planetoid

    entry = find_data_set("citeseer")
    copy_raw(entry.files, data_root, tmp_path / "CiteSeer" / "raw")
    data = Planetoid(str(tmp_path), "CiteSeer")[0]
    task = load("citeseer", root=data_root, normalize_features=False)
    assert_same_data(task, data)
    assert torch.equal(data.test_mask.nonzero().flatten(), task.split.test)


def test_bundled_cora_has_the_papers_sizes_without_any_file(monkeypatch, tmp_path):
    monkeypatch.setenv("ELASTICGNN_DATA", str(tmp_path / "nothing"))
    task = load("cora")
    assert statistics(task) == Statistics(*PAPER["cora"])
    assert torch.bincount(task.labels).tolist() == [351, 217, 418, 818, 426, 298, 180]
    assert task.class_names[3] == "Neural_Networks"
    assert task.node_ids[0] == 31336
    assert paper_split(task, seeded()).sizes == (140, 500, 1000)


def test_bundled_cora_is_small_and_is_the_known_file():
    content = (files("elasticgnn.data") / "bundled" / "cora.npz").read_bytes()
    assert len(content) < 150_000
    assert hashlib.sha256(content).hexdigest() == known_digests()["bundled/cora.npz"]


def refined_colours(task, rounds=6):
    """Per node a number that depends on features, label and neighbourhood, not on node order."""
    features = task.features.to_scipy()
    rows = np.split(features.indices, features.indptr[1:-1])
    labels = task.labels.tolist()
    colours = [digest((row.tolist(), label)) for row, label in zip(rows, labels, strict=True)]
    adjacency = task.graph.to_scipy()
    neighbours = [others.tolist() for others in np.split(adjacency.indices, adjacency.indptr[1:-1])]
    for _ in range(rounds):
        around = [sorted(colours[other] for other in others) for others in neighbours]
        colours = [digest(pair) for pair in zip(colours, around, strict=True)]
    return colours


def numpy_order(colours):
    return torch.from_numpy(np.argsort(np.array(colours), kind="stable"))


def digest(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def test_bundled_cora_equals_planetoids_up_to_node_order(data_root):
    ours = load("cora", normalize_features=False)
    theirs = load("cora-planetoid", root=data_root, normalize_features=False)
    our_colours, their_colours = refined_colours(ours), refined_colours(theirs)
    assert len(set(our_colours)) > 2680  # twins cite the same papers: any of them will do
    assert sorted(our_colours) == sorted(their_colours)
    order = torch.empty(2708, dtype=torch.int64)
    order[numpy_order(their_colours)] = numpy_order(our_colours)
    assert ours.graph.subgraph(order).fingerprint == theirs.graph.fingerprint
    assert ours.features.rows(order).fingerprint == theirs.features.fingerprint
    assert torch.equal(ours.labels[order], theirs.labels)


@pytest.mark.parametrize("name", ["cora-meta-0.10", "Cora_Meta_0.1", " cora-meta-.1 "])
def test_names_are_read_generously(name):
    assert find_data_set(name).name == "cora-meta-0.1"


@pytest.mark.parametrize("name", ["corra", "cora-meta-0.3", "cora-meta-x", ""])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(ValueError, match="name must be one of cora, citeseer"):
        load(name)


def test_every_file_of_the_catalogue_has_a_checksum():
    needed = {file for entry in catalogue().values() for file in entry.files}
    assert needed <= set(known_digests())


@pytest.mark.parametrize("name", ["coauthor-cs", "amazon-photo"])
def test_rows_of_coauthor_and_amazon_sum_to_one_and_are_stored_as_zero_or_one(name, data_root):
    sums = load(name, root=data_root).features.to_dense().sum(1)
    torch.testing.assert_close(sums[sums > 0], torch.ones(int((sums > 0).sum())))
    stored = load(name, root=data_root, normalize_features=False).features
    assert stored.value.unique().tolist() == [1.0]


def test_the_citation_graphs_come_with_rows_that_sum_to_one():
    task = load("cora")
    sums = task.features.to_dense().sum(1)
    torch.testing.assert_close(sums[sums > 0], torch.ones(int((sums > 0).sum())))
    assert not torch.equal(task.features.to_dense(), load_plain().to_dense())


def load_plain():
    return load("cora", normalize_features=False).features
