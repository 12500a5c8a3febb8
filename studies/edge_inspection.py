"""How well `inspect` finds the inserted edges of the published Metattack graphs.

    python studies/edge_inspection.py results/attacks/inspect_choice.json --choose
    python studies/edge_inspection.py results/attacks/inspect.json [--seeds 3] [--gcn]

The first command tries weights of the four measurements on CiteSeer and Polblogs at 10 %; the best
are the default of `score_edges`. The second grades that default on all graphs; Cora had no part in
the choice.
Networks are trained on the attacked graph with its fixed split; the score is that of one network
(mean over seeds) and of the networks' mean measurements. Training labels are known, others not.
Also the accuracy of a GCN before and after dropping as many of the worst edges as were inserted.
"""

import argparse
import json
import math
from itertools import product
from pathlib import Path
from statistics import fmean

import torch

from elasticgnn.attack import mean_scores, precision_at, roc_area, score_edges
from elasticgnn.attack.evaluation import accuracy_of, train_models
from elasticgnn.attack.relaxed import edge_keys
from elasticgnn.attack.suspicion import rank
from elasticgnn.data import load
from elasticgnn.nn import ModelSettings

ELASTIC = ModelSettings("elastic", dropout=0.8)
MEASURES = ("difference", "proposed", "disagreement", "saturation")


def inspect_flips(base: str, rate: str, seeds: int):
    """The attacked task, which of its edges were inserted, the networks, and what they measure."""
    clean, task = load(f"{base}-meta-0"), load(f"{base}-meta-{rate}")
    inserted = ~torch.isin(edge_keys(task.graph), edge_keys(clean.graph))
    trained = train_models(ELASTIC, task, seeds)
    parts = [score_edges(trained.model(task, k), task, task.split.train) for k in range(seeds)]
    return task, inserted, trained, parts


def choose(seeds: int) -> list[dict[str, float]]:
    """Every combination of weights on CiteSeer and Polblogs at 10 %, the best mean area first."""
    combinations = [w for w in product((1, 2, 3), repeat=len(MEASURES)) if math.gcd(*w) == 1]
    rows = [dict(zip(MEASURES, map(float, weights), strict=True)) for weights in combinations]
    for base in ("citeseer", "polblogs"):
        _, inserted, _, parts = inspect_flips(base, "0.1", seeds)
        mean = mean_scores(parts)
        ranks = [rank(getattr(mean, name)) for name in MEASURES]
        for row, weights in zip(rows, combinations, strict=True):
            score = sum(w * each for w, each in zip(weights, ranks, strict=True))
            row[base] = round(roc_area(score, inserted), 4)
    return sorted(rows, key=lambda row: -row["citeseer"] - row["polblogs"])


def measure(base: str, rate: str, seeds: int, gcn: bool) -> dict[str, object]:
    task, inserted, trained, parts = inspect_flips(base, rate, seeds)
    count, mean = int(inserted.sum()), mean_scores(parts)
    row = {
        "data": base,
        "rate": float(rate),
        "inserted": count,
        "edges": task.graph.num_edges,
        "seeds": seeds,
        "accuracy": fmean(history.test_accuracy for history in trained.histories),
        "roc_area": roc_area(mean.score, inserted),
        "roc_area_one_network": fmean(roc_area(part.score, inserted) for part in parts),
        "precision": precision_at(mean.score, inserted, count),
        "chance": count / task.graph.num_edges,
    }
    for name in MEASURES:
        row[f"roc_area_{name}"] = roc_area(getattr(mean, name), inserted)
    if gcn:
        row["gcn_before"] = accuracy_of("gcn", task, seeds)
        row["gcn_after"] = accuracy_of("gcn", task.with_graph(mean.without_worst(count)), seeds)
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", default="cora,citeseer,polblogs")
    parser.add_argument("--rates", default="0.1,0.2,0.05,0.15")
    parser.add_argument("--gcn", action="store_true", help="also train a GCN on the cleaned graph")
    parser.add_argument(
        "--choose", action="store_true", help="try weights on CiteSeer and Polblogs"
    )
    arguments = parser.parse_args()
    if arguments.choose:
        rows = choose(arguments.seeds)
        arguments.output.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
        print(*rows[:10], sep="\n")
        return
    rows = json.loads(arguments.output.read_text()) if arguments.output.exists() else []
    done = {(row["data"], row["rate"]) for row in rows}
    for rate in arguments.rates.split(","):
        for base in arguments.data.split(","):
            if (base, float(rate)) not in done:
                rows.append(measure(base, rate, arguments.seeds, arguments.gcn))
                print(rows[-1], flush=True)
                arguments.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
