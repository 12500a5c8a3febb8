"""UTF-16 and UTF-32, with and without the mark at the beginning, in every kind of file."""

import json

import pytest
import torch

from elasticgnn.data import block_model, read_task
from elasticgnn.data.own.layout import TableLayout
from elasticgnn.data.own.split_file import with_split_file
from elasticgnn.data.own.text import read_text

ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"]
TABLES = {
    "edges": "source,target\nann,Zoë\nZoë,cem\n",
    "features": "id,x\nann,1\nZoë,2\ncem,3\n",
    "labels": "id,label\nann,oui\nZoë,été\n",
}


def written(folder, encoding, rows=TABLES):
    paths = {name: folder / f"{name}.csv" for name in rows}
    for name, text in rows.items():
        paths[name].write_bytes(text.encode(encoding))
    return paths


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_table_is_read(tmp_path, encoding):
    task = read_task(**written(tmp_path, encoding))
    assert task.node_ids == ("ann", "Zoë", "cem")
    assert task.class_names == ("oui", "été")
    assert task.features.flatten().tolist() == [1, 2, 3]
    noted = [note for note in task.notes if "(--encoding names another)" in note]
    unmarked = encoding in ("utf-16-le", "utf-16-be")
    assert noted == [
        f"{n}.csv: read as {encoding.upper()} (--encoding names another)"
        for n in ("edges", "features", "labels")
        if unmarked
    ]


def test_large_ones_are_read_too(tmp_path):
    rows = "".join(f"n{k},n{k + 1}\n" for k in range(30_000))
    paths = written(tmp_path, "utf-16-le", {"edges": "source,target\n" + rows})
    assert read_task(**paths).num_nodes == 30_001


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_split_is_read(tmp_path, encoding):
    task = block_model([2, 1], torch.Generator().manual_seed(0))
    lists, table = tmp_path / "s.json", tmp_path / "s.csv"
    lists.write_bytes(json.dumps({"train": [0, 1], "test": [2]}).encode(encoding))
    table.write_bytes("id,part\n0,train\n1,train\n2,test\n".encode(encoding))
    for path in (lists, table):
        texts = with_split_file(task, path).label_columns[path.name]
        assert texts == ("train", "train", "test")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_graph_in_json_is_read(tmp_path, encoding):
    graph = {"nodes": [{"id": "ann"}, {"id": "Zoë"}], "links": [{"source": "ann", "target": "Zoë"}]}
    path = tmp_path / "g.json"
    path.write_bytes(json.dumps(graph, ensure_ascii=False).encode(encoding))
    assert read_task(path).node_ids == ("ann", "Zoë")


@pytest.mark.parametrize(
    "content",
    [
        b"source,target\nann,b\0bb\n",  # one zero: a slip, not two bytes per letter
        bytes(range(256)) * 8,
        b"\1\0\2\0\3\0\4\0" * 20,  # whole numbers
        "日本語,中国語\n".encode("utf-16-le") * 20,  # could be anything
    ],
)
def test_other_content_is_refused_with_the_option(tmp_path, content):
    path = tmp_path / "e.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"got binary content \(--encoding names an unusual"):
        read_task(path)


def test_what_could_be_anything_is_read_as_asked(tmp_path):
    paths = written(tmp_path, "utf-16-be", {"edges": "日本語,中国語\n" * 2})
    assert read_text(paths["edges"], "utf-16-be")[0].startswith("日本語")
    task = read_task(**paths, layout=TableLayout(encoding="utf-16-be"))
    assert task.node_ids == ("日本語", "中国語")
