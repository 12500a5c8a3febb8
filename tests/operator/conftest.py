import pytest
import torch

from elasticgnn.operator import kept


@pytest.fixture
def restore_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def scarce_memory(monkeypatch):
    """The loops get memory for what they keep twice, and then no more."""
    real, calls = kept.fresh, []

    def fresh(count):
        calls.append(count)
        if len(calls) > 2:
            raise MemoryError("no memory for the rows")
        return real(count)

    monkeypatch.setattr(kept, "fresh", fresh)
