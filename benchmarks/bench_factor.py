"""The three libraries that can factorise the solver's node systems, on the same systems.

    python benchmarks/bench_factor.py

Processor seconds of one factorisation in a run of them (the search for an order is done once, and
not counted) and of one solution, the least of some; written to benchmarks/results/factor.json.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elasticgnn.graph import grid_graph
from elasticgnn.solver.linear_algebra.assembly import NodeSystem
from elasticgnn.solver.linear_algebra.factor import CholeskyFactor, LuFactor, QdldlFactor
from elasticgnn.solver.problem.geometry import Geometry

LIBRARIES = {"compiled": CholeskyFactor, "qdldl": QdldlFactor, "SuperLU": LuFactor}
SYSTEMS = [(side, order) for side in (100, 316) for order in (0, 1, 2)]
REPEATS = 3
RECORD = Path(__file__).parent / "results" / "factor.json"


def least_time(run: Callable[[], Any]) -> float:
    """The least processor time of some calls after a first one."""
    run()
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def measured(side: int, order: int, library: str) -> dict[str, Any]:
    """One library on the system of a grid."""
    geometry = Geometry(grid_graph(side, side), order)
    system = NodeSystem(geometry.operator, geometry.adjoint, 1)
    system.factor = LIBRARIES[library](system.pattern)
    rng = np.random.default_rng(0)
    curvature = rng.exponential(size=(geometry.num_rows, 1, 1))
    weight, right = np.ones((side * side, 1)), rng.normal(size=(side * side, 1))
    factorise = least_time(lambda: system.factorise(weight, curvature))
    solve = least_time(lambda: system.solve(right.copy()))
    found = {"nodes": side * side, "order": order, "library": library}
    return found | {"factorise": factorise, "solve": solve}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RECORD)
    output = parser.parse_args().output
    torch.set_num_threads(1)
    records = []
    for side, order in SYSTEMS:
        for library in LIBRARIES:
            records.append(measured(side, order, library))
            print(json.dumps(records[-1]), flush=True)
    output.write_text(json.dumps({"records": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
