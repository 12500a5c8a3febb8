"""Shared fixtures: where the real data are, and threads that leave room for others."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a process pays for imports and kernel loading, so no deadline per example;
# derandomised: a red run is red again for the next person.
settings.register_profile("elasticgnn", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("elasticgnn")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of real data sets; tests that need it are skipped where it is absent."""
    root = os.environ.get("ELASTICGNN_DATA")
    if not root or not Path(root).is_dir():
        pytest.skip("ELASTICGNN_DATA does not name a folder with the paper's data sets")
    return Path(root)


@pytest.fixture(scope="session")
def browser():
    """The one browser of this process: playwright allows no second one beside it."""
    from browsing import chromium

    with chromium() as started:
        yield started
