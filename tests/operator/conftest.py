import pytest
import torch

from elasticgnn.kernels import native
from elasticgnn.operator import saved_rows


@pytest.fixture
def restore_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def several_threads(monkeypatch, restore_threads):
    """Sets 1, 2, 3 and 1 threads in turn; the loops use them however little work there is."""
    monkeypatch.setattr(native.tuning, "work_per_thread", 1)
    monkeypatch.setattr(native.tuning, "registers_per_thread", 1)

    def each():
        for threads in (1, 2, 3, 1):
            torch.set_num_threads(threads)
            yield threads

    return each()


@pytest.fixture
def scarce_memory(monkeypatch):
    """The loops get memory for what they save twice, and then no more."""
    real, calls = saved_rows.fresh, []
    monkeypatch.setattr(saved_rows, "SMALLEST", 1)  # a block for each question
    monkeypatch.setattr(saved_rows, "LARGEST", 1)
    monkeypatch.setattr(saved_rows, "CAN_LEND", False)
    monkeypatch.setattr(saved_rows.SavedRows, "pool", saved_rows.BlockPool())  # none of before

    def fresh(count):
        calls.append(count)
        if len(calls) > 2:
            raise MemoryError("no memory for the rows")
        return real(count)

    monkeypatch.setattr(saved_rows, "fresh", fresh)
