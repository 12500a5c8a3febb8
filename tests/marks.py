"""Why a test may be left out."""

import pytest

from elasticgnn.kernels import native

needs_kernels = pytest.mark.skipif(
    native is None,
    reason="installed without a compiler: there are no compiled loops, and the plain path is in "
    "use (tests/kernels/test_load.py fails where a compiler is at hand)",
)
