"""Partition folders whose digests are right and whose content is not: refused by name."""

import hashlib
import json

import numpy as np
import pytest

from distributed_work import small_task
from elasticgnn.distributed import PartitionFolder, write_partition


@pytest.fixture(params=["dense", "sparse"])
def folder(request, tmp_path):
    write_partition(small_task(sparse=request.param == "sparse"), tmp_path / "parts", parts=3)
    return tmp_path / "parts"


def rewrite(folder, change):
    """Changes the manifest's content."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def replace_array(folder, name, change):
    """Puts another array in the place of one of part 1 or of the folder, with its digest."""
    own = (folder / name).exists()
    path = folder / name if own else folder / "part-00001" / name
    np.save(path, change(np.load(path)))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    rewrite(folder, lambda c: (c if own else c["parts"][1])["files"].update({name: digest}))


def everything(folder):
    opened = PartitionFolder(folder)
    return opened.graph(), opened.task(), opened.split(0)


def put(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


ARRAYS = {
    "a neighbour beyond the graph": ("neighbour.npy", put(0, 10**6)),
    "a negative neighbour": ("neighbour.npy", put(-1, -1)),
    "neighbours that are no numbers": ("neighbour.npy", lambda a: a.astype(np.float64)),
    "neighbours of one direction": ("neighbour.npy", lambda a: a[::-1].copy()),
    "fewer neighbours": ("neighbour.npy", lambda a: a[:-1]),
    "a start beyond the neighbours": ("start.npy", put(1, 10**12)),
    "a start that falls": ("start.npy", put(2, 0)),
    "starts of other rows": ("start.npy", lambda a: a[:-1]),
    "a node beyond the graph": ("nodes.npy", put(-1, 10**9)),
    "a node twice": ("nodes.npy", lambda a: np.sort(put(0, a[1])(a))),
    "nodes as a matrix": ("nodes.npy", lambda a: a[:, None]),
    "an assignment to no part": ("assignment.npy", put(0, 77)),
    "an assignment of fewer nodes": ("assignment.npy", lambda a: a[:-1]),
    "labels of fewer nodes": ("labels.npy", lambda a: a[:-1]),
    "a class beyond all": ("labels.npy", put(0, 10**9)),
    "a negative class": ("labels.npy", put(0, -7)),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_arrays_that_do_not_fit_are_refused_by_name(folder, what):
    name, change = ARRAYS[what]
    everything(folder)
    replace_array(folder, name, change)
    with pytest.raises(ValueError, match=r"parts.* must "):
        everything(folder)


def test_features_of_other_sizes_are_refused(folder):
    dense = (folder / "part-00001/features.npy").exists()
    name = "features.npy" if dense else "feature_start.npy"
    replace_array(folder, name, lambda a: a[:-1])
    with pytest.raises(ValueError, match=" must "):
        everything(folder)


MANIFESTS = {
    "nodes as text": {"num_nodes": "60"},
    "more nodes than any memory": {"num_nodes": 10**15},
    "negative nodes": {"num_nodes": -1},
    "fewer nodes": {"num_nodes": 5},
    "true nodes": {"num_nodes": True},
    "no parts": {"parts": []},
    "parts that are lists": {"parts": [[1, 2]]},
    "parts of text": {"parts": [{"nodes": "1", "neighbours": 2, "files": {}}]},
    "files as a list": {"files": ["labels.npy"]},
    "no files": {"files": {}},
    "another normalization": {"normalization": "x"},
    "names as a number": {"class_names": 3},
    "no such split": {"split_rule": "x", "own_files": False},
    "sparse as text": {"sparse": "yes"},
    "medians of other columns": {"fill": [0.0]},
    "medians as words": {"fill": ["a"] * 12},
    "categories as text": {"categories": "ab"},
    "a list of numbers": [1, 2],
}


@pytest.mark.parametrize("what", MANIFESTS)
def test_a_manifest_that_does_not_fit_is_refused_by_name(folder, what):
    changed = MANIFESTS[what]
    if isinstance(changed, list):
        (folder / "manifest.json").write_text(json.dumps(changed))
    else:
        rewrite(folder, lambda content: content.update(changed))
    with pytest.raises(ValueError, match=r"parts.* must |must be one of"):
        everything(folder)


def test_files_outside_the_folder_are_not_looked_at(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("s")
    digest = hashlib.sha256(b"guess").hexdigest()
    rewrite(folder, lambda content: content["files"].update({"../secret": digest}))
    with pytest.raises(ValueError, match=r"manifest\.json must .*'\.\./secret'"):
        PartitionFolder(folder)
