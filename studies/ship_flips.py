"""Puts the flips of a robustness comparison into the package, with a checksum of every file.

    elasticgnn robustness cora --binary --models gcn,elastic --attacks eva,prbcd --rates 0.05,0.25 \
        --seeds 2 --attack-epochs 60 --block 20000 --generations 60 --screened 1000 \
        --screen-every 20 --together 1 --rows build/flips
    python studies/ship_flips.py build/flips/evasion-*/ src/elasticgnn/attack/flips

Files are named data, method, victim, rate in per cent, seed; `sha256sums` covers all of the folder.
"""

import argparse
import hashlib
from pathlib import Path

from elasticgnn.attack import load_perturbation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("package", type=Path)
    given = parser.parse_args()
    for path in sorted(given.source.glob("*-itself-*.json")):
        method, victim, _, percent, seed = path.stem.split("-")
        found = load_perturbation(path)
        found.save(given.package / f"{found.task}-{method}-{victim}-{percent}-{seed}.json")
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(given.package.glob("*.json"))
    ]
    (given.package / "sha256sums").write_text("".join(lines))
    print(f"{len(lines)} files")


if __name__ == "__main__":
    main()
