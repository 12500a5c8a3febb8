"""One call of the command line within the test's own process."""

import pytest

from elasticgnn.cli.__main__ import main


def run(*words: object) -> int:
    """Its exit code."""
    with pytest.raises(SystemExit) as leaving:
        main([str(word) for word in words])
    return leaving.value.code or 0
