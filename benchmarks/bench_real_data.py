r"""Graphs that software brings along: what `tune` saves, beside common models at common defaults.

    python benchmarks/bench_real_data.py --sources FOLDER --minutes 0.5 --clock processor \
        --output FILE

The tasks, and where the files in FOLDER come from, are in real_data_tasks.py; the rest is as in
bench_own_data.py.
"""

from functools import partial
from pathlib import Path

import numpy as np
from bench_own_data import given_options, measure_all
from real_data_tasks import REAL_MAKERS

from elasticgnn.data import NodeTask


def made(kind: str, folder: Path, _: np.random.Generator) -> NodeTask:
    """The task of a kind, in which nothing is drawn."""
    return REAL_MAKERS[kind](folder)


def main() -> None:
    parser = given_options(REAL_MAKERS, __doc__ or "")
    parser.add_argument("--sources", type=Path, required=True, help="folder of the files")
    options = parser.parse_args()
    measure_all({kind: partial(made, kind, options.sources) for kind in REAL_MAKERS}, options)


if __name__ == "__main__":
    main()
