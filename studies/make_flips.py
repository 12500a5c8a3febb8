"""The Metattack flips that come with the package: 25 % of the edges of the Cora component.

    python studies/make_flips.py OUTPUT.json --seed 0 [--stages 5] [--tries 4] [--log log.json]

A meta-gradient is taken from one random start, so attacks with one setting differ by several
points. The attack is therefore made in stages: each is tried with several random starts, and goes
on from the flips that leave a GCN (16 hidden units, words as 0/1) least in agreement with what it
said of the unlabelled nodes of the clean graph. No label outside the split's training nodes is used
for that, except that the GCN stops at its best validation epoch. Goes on from a file that exists.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor

from elasticgnn.attack import (
    AttackBudget,
    InnerTraining,
    MetattackSettings,
    load_perturbation,
    metattack,
)
from elasticgnn.attack.evaluation import fixed_or_drawn, train_models
from elasticgnn.attack.perturbation import Perturbation, component_task
from elasticgnn.data import NodeTask, Split, load
from elasticgnn.nn import ModelSettings

GCN = ModelSettings("gcn", hidden_channels=16)
RUNS = 3


def classes(task: NodeTask) -> list[Tensor]:
    """What each of a few trained GCNs says of the nodes."""
    trained = train_models(GCN, task, RUNS)
    with torch.no_grad():
        return [trained.model(task, k)(task.features, task.graph).argmax(1) for k in range(RUNS)]


def agreement(task: NodeTask, split: Split, flips: Perturbation, before: Tensor) -> float:
    """Share of unlabelled nodes on which GCNs on the attacked graph keep to `before`."""
    unlabelled = torch.ones(task.num_nodes, dtype=torch.bool)
    unlabelled[split.train] = False
    after = classes(flips.apply_to(task))
    return fmean(float((part == before)[unlabelled].double().mean()) for part in after)


def extend(
    task: NodeTask,
    split: Split,
    flips: Perturbation | None,
    rate: float,
    number: int,
    settings: MetattackSettings,
) -> Perturbation:
    """The attack carried on to `rate` with the random start `number`."""
    generator = torch.Generator().manual_seed(number)
    return metattack(task, split, AttackBudget(rate=rate), settings, generator, after=flips)


def given_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stages", type=int, default=5)
    parser.add_argument("--tries", type=int, default=4)
    parser.add_argument("--flips-per-step", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=100, help="stages to do now, then stop")
    parser.add_argument("--first", type=int, default=0, help="added to the seeds of the tries")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--scales", default="0.3,0.5", help="of the initial weights, in turn")
    return parser.parse_args()


def main() -> None:
    given = given_options()
    scales = given.scales.split(",")
    task = component_task(load("cora", normalize_features=False))
    split = fixed_or_drawn(task, torch.Generator().manual_seed(given.seed))
    clean = replace(task, split=split, split_rule="fixed")
    before = torch.stack(classes(clean)).mode(0).values
    flips = load_perturbation(given.output) if given.output.exists() else None
    done = 0 if flips is None else int(flips.settings["stages"])
    log = json.loads(given.log.read_text()) if given.log and given.log.exists() else []
    for stage in range(done + 1, min(given.stages, done + given.at_once) + 1):
        rate, tried = 0.25 * stage / given.stages, []
        for k in range(given.tries):
            number = 10_000 * given.seed + 100 * stage + given.first + k
            inner = InnerTraining(weight_scale=float(scales[number % len(scales)]))
            settings = MetattackSettings(flips_per_step=given.flips_per_step, inner=inner)
            found = extend(task, split, flips, rate, number, settings)
            tried.append((agreement(task, split, found, before), number, found))
        kept, number, flips = min(tried, key=lambda each: each[:2])
        log.append({"rate": round(rate, 4), "agreement": [round(t[0], 4) for t in tried]})
        print({"seed": given.seed, "kept": round(kept, 4), **log[-1]}, flush=True)
        how = {**flips.settings, "stages": stage, "tries": given.tries}
        how["inner.weight_scale"] = " or ".join(scales)
        replace(flips, seed=given.seed + given.first, settings=how).save(given.output)
        if given.log is not None:
            given.log.write_text(json.dumps(log, indent=1) + "\n")


if __name__ == "__main__":
    main()
