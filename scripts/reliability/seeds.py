"""One good file of every format that the library reads, and the function that reads it."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import torch
from parts import npy, partition_formats
from scipy import sparse
from seed import Format
from sheets import sheet_formats

CSV = b'source,target,weight\nann,bob,1\n"bob",cy,2\ncy,dan,0.5\n'
GRAPHML = (
    b"<graphml><key id='w' for='edge' attr.name='weight' attr.type='double'/><graph>"
    b"<node id='a'/><node id='b'/><edge source='a' target='b'><data key='w'>2</data></edge>"
    b"</graph></graphml>"
)
FLIPS = {
    **{"format": "elasticgnn perturbation 1", "task": "t", "method": "random", "seed": 0},
    **{"settings": {"rate": 0.1}, "fingerprint": "f" * 64, "pairs": [[0, 1], [2, 3]]},
    **{"loss": [0.5, 0.6], "split": {"train": [0], "val": [1], "test": [2, 3]}},
}
GEXF = (
    b'<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph><nodes><node id="a"/>'
    b'<node id="b"/></nodes><edges><edge id="0" source="a" target="b" weight="2"/></edges>'
    b"</graph></gexf>"
)
GML = b'graph [ node [ id 0 label "a" ] node [ id 1 ] edge [ source 0 target 1 weight 2 ] ]'
NODE_LINK = {"nodes": [{"id": "a", "x": 1}, {"id": 2}], "edges": [{"source": "a", "target": 2}]}
MATRIX = b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 1\n"
ROW = {
    **{"protocol": "global", "seed": 0, "rate": 0.1, "attack": "prbcd", "source": "gcn"},
    **{"route": "own", "accuracy": {"gcn": 0.8}, "flips": 3, "seconds": 1.0},
}
STUDY = b"""title = "t"
axis = "rate"
levels = [0.0, 0.1]
datasets = ["cora"]
[protocol]
runs = 2
[models.gcn]
family = "gcn"
space = [{dropout = [0.5, 0.8], steps = 3}]
[paper.cora]
gcn = [[81.0, 0.5], []]
"""


def formats() -> dict[str, Format]:
    """Every format by name."""
    from elasticgnn.attack import load_perturbation
    from elasticgnn.data import read_task
    from elasticgnn.data.own.read_task import read_features, read_labels
    from elasticgnn.data.safe_pickle import read_pickle
    from elasticgnn.data.signal_files import read_signal
    from elasticgnn.experiment import load_spec
    from elasticgnn.robustness.store import Rows
    from elasticgnn.training import TrainedModel

    return {
        **network_formats(),
        **sheet_formats(),
        **partition_formats(),
        "features": Format("f.csv", b"id,a,b\nann,1,0.5\nbob,0,2e3\n", read_features),
        "labels": Format("l.csv", b"id,label\nann,x\nbob,y\ncy,\n", read_labels),
        "rows of a comparison": Format("rows.jsonl", 2 * (json.dumps(ROW).encode() + b"\n"), Rows),
        "npz": Format("e.npz", archive(), read_task),
        "npz matrix": Format("e.npz", matrix_archive(), read_task),
        "csv": Format("e.csv", CSV, read_task),
        "tsv": Format("e.tsv", CSV.replace(b",", b"\t"), read_task),
        "parquet": Format("e.parquet", parquet(), read_task),
        "graphml": Format("e.graphml", GRAPHML, read_task),
        "npy": Format("s.npy", npy(np.arange(12.0).reshape(6, 2)), read_signal),
        "signal csv": Format("s.csv", b"id,value,x,y\n0,1.5,0,0\n1,2,0,1\n2,,1,1\n", read_signal),
        "png": Format("s.png", png(), read_signal),
        "pickle": Format("p", pickle.dumps(sparse.csr_matrix(np.eye(3)), protocol=3), read_pickle),
        "pickled dict": Format("p", pickle.dumps({0: [1, 2], 1: [0]}, protocol=2), read_pickle),
        "model": Format("m.safetensors", model(), TrainedModel.load),
        "model, digest right": Format("about.json", about(), read_described),
        "flips": Format("f.json", json.dumps(FLIPS).encode(), load_perturbation),
        "result": Format("r.json", result(), read_result_file),
        "study": Format("study.toml", STUDY, lambda path: load_spec(str(path))),
    }


def network_formats() -> dict[str, Format]:
    """Graph files of other programs, and packed tables."""
    from elasticgnn.data import read_task
    from elasticgnn.data.npz import read_benchmark_npz

    return {
        "gexf": Format("e.gexf", GEXF, read_task),
        "gml": Format("e.gml", GML, read_task),
        "node-link": Format("e.json", json.dumps(NODE_LINK).encode(), read_task),
        "matrix market": Format("e.mtx", MATRIX, read_task),
        "csv.gz": Format("e.csv.gz", gzip.compress(CSV, mtime=0), read_task),
        "csv in a zip": Format("e.zip", zipped(CSV), read_task),
        "benchmark npz": Format(
            "b.npz", benchmark(), lambda path: read_benchmark_npz("b", path).num_nodes
        ),
    }


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("e.csv"), content)
    return file.getvalue()


def benchmark() -> bytes:
    """A graph of 4 nodes as the robustness literature stores it."""
    parts: dict[str, np.ndarray] = {"labels": np.array([0, 1, 0, 1])}
    path = sparse.csr_array(np.eye(4, k=1) + np.eye(4, k=-1))
    for name, matrix in (("adj", path), ("attr", sparse.csr_array(np.eye(4)))):
        fields = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape))
        names = ("data", "indices", "indptr", "shape")
        parts |= {f"{name}_{field}": array for field, array in zip(names, fields, strict=True)}
    file = io.BytesIO()
    np.savez(file, **parts)
    return file.getvalue()


def archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, edge_index=np.array([[0, 1], [1, 2]]), x=np.eye(3), y=np.array([0, 1, -1]))
    return file.getvalue()


def matrix_archive() -> bytes:
    file = io.BytesIO()
    sparse.save_npz(file, sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])))
    return file.getvalue()


def parquet() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as writer

    file = io.BytesIO()
    writer.write_table(pa.table({"a": ["x", "y"], "b": ["y", "z"], "weight": [1.0, 2.0]}), file)
    return file.getvalue()


def png() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8)
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def small_model() -> tuple[str, dict[str, torch.Tensor]]:
    """The description and the weights of a model file."""
    from dataclasses import asdict

    from elasticgnn.nn import ModelSettings, build_model

    settings = ModelSettings("elastic", hidden_channels=4)
    state = build_model(settings, 5, 2, torch.Generator()).state_dict()
    about = {"settings": asdict(settings), "class_names": ["a", "b"], "num_features": 5}
    about |= {"data": {}, "nodes": None, "feature_names": None, "facts": {}, "versions": {}}
    return json.dumps(about), state


def about() -> bytes:
    return small_model()[0].encode()


def model() -> bytes:
    return signed(small_model()[0])


def signed(text: str) -> bytes:
    """A model file with this description and the right digest."""
    from safetensors.torch import save

    from elasticgnn.training.model.file import FORMAT, digest

    state = small_model()[1]
    return save(state, {"format": FORMAT, "about": text, "digest": digest(text, state)})


def read_described(path: Path) -> object:
    """The model whose description is the content of `path`, in a file with the right digest."""
    from elasticgnn.training import TrainedModel

    target = path.with_suffix(".safetensors")
    target.write_bytes(signed(path.read_bytes().decode("utf-8", errors="replace")))
    return TrainedModel.load(target)


def result() -> bytes:
    run = {"run": 0, "seed": 0, "split": "s", "val": 0.5, "test": 0.5, "selected_epoch": 1}
    run |= {"epochs": 2, "seconds": 1.0, "series": {}, "curves": {}}
    table = {"format": 1, "pool": "p", "cell": {"dataset": "d", "level": 0.0, "model": "m"}}
    table |= {"protocol": {}, "search": "grid", "selected": {}, "environments": []}
    return json.dumps(table | {"candidates": [], "runs": [run]}).encode()


def read_result_file(path: Path) -> object:
    """The result at `path`, found as a study finds it."""
    from elasticgnn.experiment.cells import Cell
    from elasticgnn.experiment.results import read_result

    class Study:
        pool = "."

    cell = Cell("d", 0.0, "m")
    path.rename(path.with_name(cell.file_name))
    return read_result(path.parent, Study(), cell)  # a study is asked for its pool alone
