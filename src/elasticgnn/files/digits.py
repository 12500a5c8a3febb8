"""Numbers as text with as many digits as tell them apart."""

import math

MOST = 15  # digits that a double keeps of any number


def significant(value: float, digits: int, spread: float = 0.0) -> str:
    """`digits` of the number, and one more for each power of ten that it is beyond `spread`.

    Numbers that all lie near 1,000,000,000 and `spread` apart would else be written alike.
    """
    beyond = 0
    if spread > 0 and abs(value) > spread and math.isfinite(value):
        beyond = math.floor(math.log10(abs(value)) - math.log10(spread))
    return f"{value:.{min(digits + beyond, MOST)}g}"
