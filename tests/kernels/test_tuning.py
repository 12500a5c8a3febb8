"""Every number that was tuned names the benchmark that it was tuned with, and can be set."""

import re
from pathlib import Path

import elasticgnn
from elasticgnn.kernels import native
from marks import needs_kernels

PACKAGE = Path(elasticgnn.__file__).parent
HEADER = (PACKAGE / "kernels" / "simd" / "tuning.h").read_text()
BENCHMARKS = PACKAGE.parents[1] / "benchmarks"


def fields() -> dict[str, str]:
    """Per field of `Tuning` the comment above it, or above its neighbour."""
    found, comment = {}, ""
    (body,) = re.findall(r"struct Tuning {(.*?)\n};", HEADER, re.DOTALL)
    for part in re.findall(r"((?:  //[^\n]*\n)*)  std::int64_t (\w+) = ", body):
        comment = part[0] or comment
        found[part[1]] = comment
    return found


def test_every_tuned_number_names_a_benchmark_that_exists():
    assert len(fields()) > 5
    for name, comment in fields().items():
        named = re.findall(r"benchmarks/(\w+\.py)", comment)
        assert named, name
        assert all((BENCHMARKS / path).is_file() for path in named), name


@needs_kernels
def test_every_tuned_number_can_be_set():
    assert {name for name in dir(native.tuning) if not name.startswith("_")} == set(fields())
