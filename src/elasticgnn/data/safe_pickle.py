"""Reads the pickles of the Planetoid files without ever running what they name.

A pickle asks for callables by name. Each name that these files may use is answered with a small
stand-in of our own; every other name is refused before anything of it is imported or called.
"""

from __future__ import annotations

import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]
TRUNCATED = (KeyError, IndexError, EOFError, AssertionError, struct.error)
MOST_STEPS = 2_000_000  # ind.pubmed.graph, the longest of Planetoid, takes 178,216
# The unpickler written in Python: the compiled one makes room for any number that a file says
# it will remember.
PlainUnpickler = pickle._Unpickler
NUMBER_TYPES = {f"{kind}{size}" for kind in "iuf" for size in (1, 2, 4, 8)} | {"b1"}


class DtypeState:
    """Collects what a pickled numpy dtype says; only plain numbers are admitted."""

    def __init__(self, code: object = None, *_flags: object) -> None:
        if code not in NUMBER_TYPES:
            raise pickle.UnpicklingError(f"array type {code!r} is not a plain number")
        self.code = str(code)
        self.order = "<"

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        if order not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError(f"byte order {order!r} is unknown")
        self.order = order

    def numpy(self) -> np.dtype[Any]:
        """The NumPy type that the pickle described."""
        return np.dtype(self.order + self.code)


class ArrayState:
    """Collects what a pickled numpy array says, and builds the array from the bytes."""

    array: Array

    def __init__(self, *_arguments: object) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        _version, shape, dtype, fortran, content = state
        if not isinstance(dtype, DtypeState):
            raise pickle.UnpicklingError("array without a type")
        if isinstance(content, str):  # Python 2 bytes, decoded as latin1
            content = content.encode("latin1")
        if not all(type(length) is int and length >= 0 for length in shape):
            raise pickle.UnpicklingError(f"array shape {shape!r} is impossible")
        flat = np.frombuffer(content, dtype=dtype.numpy())
        self.array = flat.reshape(shape, order="F" if fortran else "C").copy()


class CsrState:
    """Collects the attributes of a pickled scipy csr matrix."""

    def __setstate__(self, state: Any) -> None:
        self.parts = {str(key): value for key, value in dict(state).items()}

    def matrix(self) -> sparse.csr_array:
        """The checked matrix that the pickle described."""
        parts = [self.parts[name].array for name in ("data", "indices", "indptr")]
        matrix = sparse.csr_array(tuple(parts), shape=tuple(self.parts["_shape"]))
        matrix.check_format(full_check=True)
        return matrix


class Neighbours(dict[Any, Any]):
    """Stands for a defaultdict: the pickle fills it, its factory is forgotten."""

    def __init__(self, *_factory: object) -> None:
        super().__init__()

    def __setstate__(self, state: object) -> None:
        raise pickle.UnpicklingError("a mapping with attributes")


class OnlyNamed:
    """Stands for a type that is an argument of a call, never called itself."""

    def __init__(self, *_arguments: object) -> None:
        raise pickle.UnpicklingError("a type was called that is only ever named")

    def __setstate__(self, state: object) -> None:
        raise pickle.UnpicklingError("a type was filled that is only ever named")


# Classes only: a function could be handed attributes by the pickle.
STAND_INS: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): ArrayState,
    ("numpy._core.multiarray", "_reconstruct"): ArrayState,
    ("numpy", "ndarray"): OnlyNamed,
    ("numpy", "dtype"): DtypeState,
    ("scipy.sparse.csr", "csr_matrix"): CsrState,
    ("scipy.sparse._csr", "csr_matrix"): CsrState,
    ("collections", "defaultdict"): Neighbours,
    ("__builtin__", "list"): OnlyNamed,
    ("builtins", "list"): OnlyNamed,
}


class CountedSteps(dict[int, Any]):
    """The unpickler's table of operations, each of which may be looked up so many times."""

    def __init__(self, table: dict[int, Any]) -> None:
        super().__init__(table)
        self.left = MOST_STEPS

    def __getitem__(self, operation: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise pickle.UnpicklingError(f"it takes more than {MOST_STEPS} steps to read")
        return super().__getitem__(operation)


class RestrictedUnpickler(PlainUnpickler):
    """Knows the names in STAND_INS and no others; what it remembers is bounded by its steps."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, encoding="latin1")
        vars(self)["dispatch"] = CountedSteps(PlainUnpickler.dispatch)  # over that of the class

    def find_class(self, module_name: str, global_name: str) -> Any:
        """The stand-in for an allowed class; UnpicklingError for any other."""
        try:
            return STAND_INS[module_name, global_name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it asks for {module_name}.{global_name}, which is not allowed"
            ) from None

    def persistent_load(self, pid: Any) -> Any:
        """Refuses: nothing outside the file is loaded."""
        raise pickle.UnpicklingError("it refers to an object outside the file")


def read_pickle(path: Path) -> Any:
    """The array, csr matrix, or dict of lists of numbers stored in `path`."""
    content = path.read_bytes()
    try:
        value = RestrictedUnpickler(io.BytesIO(content)).load()
        return plain(value)
    except (pickle.UnpicklingError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} must be a pickle of plain numbers, got: {error}") from None
    except (*TRUNCATED, MemoryError, RecursionError, OverflowError) as error:
        raise ValueError(
            f"{path} must be a whole pickle file, got {type(error).__name__}"
        ) from None


def plain(value: object) -> Any:
    """What a stand-in stands for; a dict must map numbers to lists of numbers."""
    if isinstance(value, ArrayState):
        return value.array
    if isinstance(value, CsrState):
        return value.matrix()
    if isinstance(value, dict) and all(map(is_neighbour_list, value.items())):
        return dict(value)
    raise ValueError(f"a {type(value).__name__}")


def is_neighbour_list(item: tuple[object, object]) -> bool:
    """Whether the item is a node number with a list of node numbers."""
    node, neighbours = item
    return (
        type(node) is int
        and isinstance(neighbours, list)
        and all(type(other) is int for other in neighbours)
    )
