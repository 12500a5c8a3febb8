"""Which wheel the trial installs, and which it only loads."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
try:
    from try_wheel import fits
finally:
    sys.path.pop(0)
OWN = "elasticgnn-0.1.0-cp311-cp311-manylinux_2_34_x86_64.whl"
STABLE = "elasticgnn-0.1.0-cp312-abi3-manylinux_2_34_x86_64.whl"


@pytest.mark.parametrize(
    ("wheel", "version", "expected"),
    [
        (OWN, (3, 11), True),
        (OWN, (3, 12), False),
        (STABLE, (3, 11), False),
        (STABLE, (3, 12), True),
        (STABLE, (3, 14), True),
        ("elasticgnn-0.1.0-py3-none-any.whl", (3, 12), False),
    ],
)
def test_a_wheel_fits_the_pythons_that_its_tags_name(wheel, version, expected):
    assert fits(wheel, version) is expected
