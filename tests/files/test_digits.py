"""Numbers as text with as many digits as tell them apart."""

import math

import pytest

from elasticgnn.files import significant


@pytest.mark.parametrize(
    ("value", "digits", "spread", "text"),
    [
        (1 / 3, 4, 0.0, "0.3333"),
        (1234567.89, 4, 0.0, "1.235e+06"),
        (1234567.89, 4, 1e6, "1.235e+06"),
        (1234567.89, 4, 10.0, "1234567.89"),
        (-1_000_000_012.5, 7, 30.0, "-1000000012.5"),
        (0.0, 4, 1e-9, "0"),
        (3.0, 4, 100.0, "3"),
        (1e300, 4, 1e-300, "1e+300"),
        (math.inf, 7, 2.0, "inf"),
        (-math.inf, 7, 2.0, "-inf"),
        (math.nan, 7, 2.0, "nan"),
    ],
)
def test_digits_grow_where_numbers_lie_close_together(value, digits, spread, text):
    assert significant(value, digits, spread) == text
