"""Files made to annoy: refused by name, without the memory or the time they ask for."""

import io
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from elasticgnn.data import read_task
from elasticgnn.data.npz import read_arrays, read_benchmark_npz
from elasticgnn.data.safe_pickle import read_pickle
from elasticgnn.data.signal_files import read_signal

TESTS = Path(__file__).parents[1]
MEGABYTE = 1 << 20
ROOM = 200 * MEGABYTE  # beside what the imports take


def archive(path: Path, **arrays) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def members(path: Path, contents: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents.items():
            file.writestr(name, content)
    return path


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header(text: str, numbers: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + numbers


def test_a_large_node_number_costs_nothing(tmp_path):
    path = archive(tmp_path / "g.npz", edge_index=np.array([[0, 7], [7, 100_000_000]]))
    task = read_task(path)
    assert task.num_nodes == 3
    assert task.node_ids == (0, 7, 100000000)


@pytest.mark.parametrize("kind", ["u1", "u4", "u8", "i2"])
def test_unsigned_node_numbers_are_read(tmp_path, kind):
    path = archive(tmp_path / "g.npz", edge_index=np.array([[0, 1], [1, 2]], dtype=kind))
    assert read_task(path).graph.num_edges == 2
    empty = archive(tmp_path / "e.npz", edge_index=np.zeros((2, 0), kind), node_ids=np.arange(3))
    with pytest.raises(ValueError, match=r"e\.npz"):
        read_task(empty)


def test_unused_members_are_not_unpacked(tmp_path):
    contents = {"edge_index.npy": npy(np.array([[0, 1], [1, 2]])), "junk.npy": b"no array"}
    arrays = read_arrays(members(tmp_path / "g.npz", contents))
    assert arrays["edge_index"].shape == (2, 2)
    assert list(arrays._arrays) == ["edge_index"]


def test_an_archive_that_swells_is_refused_unread(tmp_path):
    zeros = npy(np.zeros((20_000, 1_000)))
    path = members(
        tmp_path / "g.npz", {"edge_index.npy": npy(np.eye(2, dtype=int)), "x.npy": zeros}
    )
    assert path.stat().st_size < MEGABYTE
    with pytest.raises(ValueError, match="unpacks to more than 10 times its size"):
        read_task(path)


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 100), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }\n",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,\n",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }\n",
        "\x00\n",
        "[" * 500 + "\n",
    ],
)
def test_damaged_headers_are_refused_by_name(tmp_path, text):
    (tmp_path / "s.npy").write_bytes(header(text, bytes(64)))
    with pytest.raises(ValueError, match=r"s\.npy must"):
        read_signal(tmp_path / "s.npy")
    path = members(tmp_path / "g.npz", {"edge_index.npy": header(text, bytes(64))})
    with pytest.raises(ValueError, match=r"g\.npz"):
        read_task(path)


def test_complex_numbers_are_refused(tmp_path):
    np.save(tmp_path / "s.npy", np.array([1 + 2j, 3.0]))
    with pytest.raises(ValueError, match="real numbers, got complex128"):
        read_signal(tmp_path / "s.npy")
    parts = {"data": np.array([1j]), "indices": np.array([1]), "indptr": np.array([0, 1, 1])}
    path = archive(tmp_path / "g.npz", **parts, shape=np.array([2, 2]))
    with pytest.raises(ValueError, match=r"weights must be numbers, got complex128"):
        read_task(path)


def test_a_matrix_of_a_thousand_million_rows_in_a_few_bytes_is_refused(tmp_path):
    parts = {"row": np.array([0]), "col": np.array([1]), "data": np.array([1.0])}
    path = archive(tmp_path / "g.npz", **parts, shape=np.array([10**9, 10**9]))
    with pytest.raises(ValueError, match=r"valid matrix, got: shape \(1000000000"):
        read_task(path)


def test_an_image_of_thousands_of_millions_of_pixels_is_refused(tmp_path):
    from PIL import Image

    image = io.BytesIO()
    Image.new("1", (8, 8)).save(image, "PNG")
    content = bytearray(image.getvalue())
    content[16:24] = (60000).to_bytes(4, "big") * 2
    import zlib

    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    (tmp_path / "s.png").write_bytes(content)
    with pytest.raises(ValueError, match=r"s\.png must be a whole image"):
        read_signal(tmp_path / "s.png")


@pytest.mark.parametrize("cut", [8, 20, 40])
def test_half_an_image_is_refused(tmp_path, cut):
    from PIL import Image

    image = io.BytesIO()
    Image.new("RGB", (20, 20)).save(image, "PNG")
    (tmp_path / "s.png").write_bytes(image.getvalue()[:cut])
    with pytest.raises(ValueError, match=r"s\.png must be a whole image"):
        read_signal(tmp_path / "s.png")


def test_a_parquet_file_of_millions_of_equal_cells_is_refused(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    column = pa.DictionaryArray.from_arrays(np.zeros(5_000_000, np.int32), ["a"])
    parquet.write_table(pa.table({"a": column, "b": column}), tmp_path / "e.parquet")
    with pytest.raises(ValueError, match="no more cells than bytes, got 10000000"):
        read_task(tmp_path / "e.parquet")


BOMBS = {
    "memory of an absent number": b"\x80\x02]r\xff\xff\xff\x3f.",
    "memory of a larger number": b"\x80\x02]r\xff\xff\xff\xff.",
    "nesting": b"\x80\x02" + b"]" * 3_000_000 + b"a" * 2_999_999 + b".",
    "marks": b"\x80\x02" + b"(" * 3_000_000 + b".",
    "remembering": b"\x80\x04]" + b"\x94" * 3_000_000 + b".",
    "tuples": b"\x80\x02" + b"K\x01\x85" + b"\x85" * 3_000_000 + b".",
    "long bytes": b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"x.",
    "long frame": b"\x80\x04\x95" + (1 << 40).to_bytes(8, "little") + b"x.",
}


def test_pickles_that_ask_for_memory_are_refused_within_bounds(tmp_path):
    for name, content in BOMBS.items():
        (tmp_path / name).write_bytes(content)
    code = (
        f"import sys\nfrom pathlib import Path\nsys.path.insert(0, {str(TESTS)!r})\n"
        "from memory import forget_peak, peak\n"
        "from elasticgnn.data.safe_pickle import read_pickle\n"
        "for path in sys.argv[1:]:\n"
        "    before = forget_peak()\n"
        "    try:\n        read_pickle(Path(path))\n"
        "    except ValueError:\n"
        "        print(Path(path).name, peak() - before, sep=':')\n"
    )
    paths = [tmp_path / name for name in BOMBS]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    taken = dict(line.split(":") for line in done.stdout.splitlines())
    assert taken.keys() == BOMBS.keys()
    assert max(int(grown) for grown in taken.values()) < ROOM, taken


@pytest.mark.parametrize("module", ["builtins", "__builtin__"])
@pytest.mark.parametrize("name", ["eval", "exec", "getattr", "open", "__import__"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_no_protocol_reaches_a_builtin(tmp_path, module, name, protocol):
    marker = tmp_path / "ran"
    call = f"open({str(marker)!r}, 'w')"
    if protocol == 4:
        asked = b"\x80\x04" + text(module) + text(name) + b"\x93"
    else:
        asked = b"c" + f"{module}\n{name}\n".encode()
    (tmp_path / "p").write_bytes(asked + text(call) + b"\x85R.")
    with pytest.raises(ValueError, match=f"asks for {module}.{name}, which is not allowed"):
        read_pickle(tmp_path / "p")
    assert not marker.exists()
    assert pickle.loads(text("x") + b".") == "x"  # the pieces above are a pickle's


def text(content: str) -> bytes:
    return b"X" + len(content).to_bytes(4, "little") + content.encode()


@pytest.mark.parametrize("labels", [{}, {"labels": np.empty(0, int)}, {"labels": np.eye(2)}])
def test_a_benchmark_archive_without_classes_is_refused(tmp_path, labels):
    matrix = {"data": np.ones(2), "indices": [1, 0], "indptr": [0, 1, 2], "shape": [2, 2]}
    path = tmp_path / "b.npz"
    np.savez(path, **{f"adj_{name}": np.asarray(value) for name, value in matrix.items()}, **labels)
    with pytest.raises(ValueError, match=r"b\.npz must hold whole numbers 'labels'"):
        read_benchmark_npz("b", path)


def test_a_zip_whose_file_has_no_name_is_refused(tmp_path):
    path = tmp_path / "e.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"a,b\n1,2\n")
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02")  # of the directory: lengths of name, extra, comment
    content[entry + 28], content[entry + 32] = 0, 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"e\.zip must"):
        read_task(path)
