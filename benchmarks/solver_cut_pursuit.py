"""One solve of pycut-pursuit, run by an interpreter of its own: it is built for numpy 1.

python solver_cut_pursuit.py problem.npz answer.npz

Knows nothing of elasticgnn; files are read and written outside the time.
"""

import sys
import time
from pathlib import Path

import numpy as np


def peak_memory() -> float:
    """Megabytes that this process held at most; what its parent held does not count."""
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def main() -> None:
    from pycut_pursuit.cp_prox_tv import cp_prox_tv

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
    np.savez(sys.argv[2], signal=signal, seconds=seconds, memory=peak_memory())


if __name__ == "__main__":
    main()
