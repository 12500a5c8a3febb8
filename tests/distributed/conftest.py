"""One small partition for all tests here, and the model that an undisturbed run leaves."""

import pytest

from distributed_work import small_task
from elasticgnn.distributed import write_partition
from training_groups import train_together


@pytest.fixture(scope="session")
def parts(tmp_path_factory):
    """Four parts of a small task; tests read them only."""
    folder = tmp_path_factory.mktemp("small") / "parts"
    write_partition(small_task(), folder, parts=4)
    return folder


@pytest.fixture(scope="session")
def undisturbed(parts):
    """The model that one process trains."""
    model = parts.parent / "undisturbed"
    train_together(parts, model, count=1)
    return model
