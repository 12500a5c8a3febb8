"""GCN on the Cora component attacked by the shipped flips and by the published ones, 10 runs.

    python studies/bite.py results/attacks/bite.json [--rates 0,0.2] [--runs 10]

GCN with 16 hidden units, 200 epochs, weights of the best validation epoch; words as 0/1, as in the
literature's files. Published graphs are taken with their fixed split, shipped ones with theirs.
"""

import argparse
import json
from pathlib import Path
from statistics import fmean, stdev

from elasticgnn.attack import shipped, shipped_names
from elasticgnn.attack.evaluation import train_models
from elasticgnn.data import load
from elasticgnn.nn import ModelSettings

GCN = ModelSettings("gcn", hidden_channels=16)


def measure(name: str, rate: float, runs: int) -> dict[str, object]:
    if name == "published":
        task = load(f"cora-meta-{rate:g}")
    else:
        task = shipped(name).apply_to(load("cora", normalize_features=False), rate)
    accuracy = [100 * h.test_accuracy for h in train_models(GCN, task, runs).histories]
    return {
        "flips": name,
        "rate": rate,
        "runs": runs,
        "mean": round(fmean(accuracy), 2),
        "deviation": round(stdev(accuracy), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rates", default="0.2,0")
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    rows = json.loads(arguments.output.read_text()) if arguments.output.exists() else []
    done = {(row["flips"], row["rate"]) for row in rows}
    for rate in map(float, arguments.rates.split(",")):
        for name in ("published", *(name for name in shipped_names() if "metattack" in name)):
            if (name, rate) not in done:
                rows.append(measure(name, rate, arguments.runs))
                print(rows[-1], flush=True)
                arguments.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
