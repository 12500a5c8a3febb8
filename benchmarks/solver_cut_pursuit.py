"""One solve of pycut-pursuit, run by an interpreter of its own: it is built for numpy 1.

python solver_cut_pursuit.py problem.npz answer.npz

Knows nothing of elasticgnn; files are read and written outside the time.
"""

import sys
import time

import numpy as np
from pycut_pursuit.cp_prox_tv import cp_prox_tv


def main() -> None:
    problem = np.load(sys.argv[1])
    rows = np.asfortranarray(problem["x"].T)
    begin = time.perf_counter()
    component, value, *_ = cp_prox_tv(
        rows,
        problem["first_edge"],
        problem["head"],
        edge_weights=np.full(len(problem["head"]), float(problem["lambda1"])),
        verbose=0,
    )
    seconds = time.perf_counter() - begin
    signal = np.asarray(value).T[np.asarray(component)]
    np.savez(sys.argv[2], signal=signal, seconds=seconds)


if __name__ == "__main__":
    main()
