"""What the searches of tables 1 and 2 that are left would take, in processor hours.

    python studies/costs.py results/costs.json [--only cora ...] [--threads 1]
    python studies/costs.py results/costs.json --grid cora elastic --sample 64
    python studies/costs.py results/costs.json --profile citeseer gat

Of every group of cells that has no search yet: processor time of one epoch (the difference of a
longer and a shorter training of the study's fixed setting, so that loading does not count) x mean
epochs of the trainings there are x trainings left. Groups of one attacked data set are measured at
their first attack rate. Rows that the file has are not measured again, but what is left is counted
anew; `--only` measures some data sets.
`--grid` trains settings drawn from the whole grid of one cell of table 1, one run each in
full, and says what all settings with all runs would take. `--profile` says which operations of
torch an epoch of one cell spends its time in.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import fmean

import torch

from elasticgnn.experiment import load_spec, read_result
from elasticgnn.experiment.cells import CellGroup, cell_groups
from elasticgnn.experiment.engine import expected_trainings, fixed_setting
from elasticgnn.experiment.execute import (
    GroupTask,
    model_settings,
    to_run,
    train_claims,
    trains_side_by_side,
)
from elasticgnn.experiment.ledger import Claim
from elasticgnn.experiment.search import drawn
from elasticgnn.experiment.tasks import load_task
from elasticgnn.training import TrainingPlan, fit_population, make_model
from elasticgnn.training.fit import fit_lean

STUDIES = ("table1", "table2")
SHORT, LONG, RUNS = 2, 8, 16
PROFILED, TOP = 20, 6
RESULTS = Path(__file__).resolve().parent.parent / "results"


def processor_seconds(work, epochs: int) -> float:
    """Processor time of `work(epochs)`."""
    began = time.process_time()
    work(epochs)
    return time.process_time() - began


def trainer(group_task: GroupTask):
    """A function of the epochs that trains the group's fixed setting, its runs, epochs to time."""
    group, task = group_task.group, group_task.task
    setting = fixed_setting(group, group.models[-1])
    settings, count = model_settings(group_task, setting), group.study.protocol.runs

    def side_by_side(epochs: int) -> None:
        runs = [to_run(group_task, setting, run % count) for run in range(RUNS)]
        fit_population(task, runs, settings, TrainingPlan(epochs=epochs))

    def alone(epochs: int) -> None:
        generator = torch.Generator().manual_seed(0)
        model = make_model(settings, task, generator)
        plan = TrainingPlan(epochs=epochs, ties="first")
        fit_lean(model, group_task.fields, group_task.splits[0], plan, generator)

    if trains_side_by_side(group):
        return side_by_side, RUNS, (SHORT, LONG)
    return alone, 1, (10, 40)  # the first epochs are chosen more often, and looked at longer


def epoch_cost(group: CellGroup) -> float:
    """Processor seconds of one epoch of one run."""
    task = load_task(group.study.protocol, group.dataset, group.level)
    work, runs, (few, many) = trainer(GroupTask(group, task))
    work(1)
    short, long = (processor_seconds(work, epochs) for epochs in (few, many))
    return max(long - short, 0.0) / (many - few) / runs


def results_of(group: CellGroup):
    """The stored results of a group, of its own study or of table 2 with 16 units."""
    studies = [group.study, load_spec("table2-16")] if group.study.name == "table2" else []
    for study in studies or [group.study]:
        found = [read_result(RESULTS, study, cell) for cell in group.cells]
        if all(found):
            return study is group.study, found
    return False, []


def is_left(group: CellGroup) -> bool:
    """Whether a cell of the group has no search of its own in the study's present space yet."""
    own, found = results_of(group)
    return not own or not all(map(is_searched, group.models, found))


def is_searched(model, result) -> bool:
    """Whether a result comes from a search, of settings that the model has now."""
    tried = [candidate.setting for candidate in result.candidates]
    return result.search != "fixed" and set(tried) <= set(model.settings)


def row_of(group: CellGroup, seconds: float) -> dict[str, object]:
    """One line of the record."""
    runs = [run for result in results_of(group)[1] for run in result.runs]
    epochs = fmean(run.epochs for run in runs) if runs else group.study.protocol.epochs
    left = expected_trainings(group) if is_left(group) else 0
    return {
        "study": group.study.name,
        "group": f"{group.dataset} {group.level:g} {group.group}",
        "epoch_milliseconds": round(1000 * seconds, 3),
        "epochs": round(epochs, 1),
        "left": left,
        "hours_left": round(left * epochs * seconds / 3600, 3),
    }


def measure(rows: dict[str, float], only: list[str], save) -> None:
    """Fills in the cost of an epoch of every group that is left and not measured."""
    for name in STUDIES:
        for group in cell_groups(load_spec(name)):
            first = group.level == group.study.levels[0]
            key = f"{name} {group.dataset} {group.group}"
            wanted = first and key not in rows and group.dataset in (only or [group.dataset])
            if wanted and is_left(group):
                rows[key] = epoch_cost(group)
                print(f"{key}: {1000 * rows[key]:.2f} ms", flush=True)
                save()


def grid_sample(dataset: str, model: str, count: int) -> dict[str, object]:
    """The time of `count` settings of a grid with one run each, and of the whole grid."""
    spec = load_spec("table1").restricted((dataset,), (model,))
    (group,) = cell_groups(spec)
    group_task = GroupTask(group, load_task(spec.protocol, dataset, 0.0))
    every = group.models[0].settings
    claims = [Claim(n, setting, 0, 1) for n, setting in enumerate(drawn(every, count, seed=0))]
    epochs: list[int] = []
    began = time.process_time()
    train_claims(group_task, claims, lambda claim, records: epochs.append(records[-1].epochs))
    seconds = time.process_time() - began
    whole = len(every) * spec.protocol.runs
    return {
        "cell": f"{dataset} {model}",
        "settings": len(every),
        "trainings": whole,
        "sampled": len(claims),
        "sampled_epochs": round(fmean(epochs), 1),
        "sampled_processor_seconds": round(seconds, 2),
        "processor_hours": round(whole / len(claims) * seconds / 3600, 3),
    }


def epoch_profile(dataset: str, model: str) -> dict[str, object]:
    """Shares (%) of the operations that an epoch of one cell of table 1 spends most time in."""
    spec = load_spec("table1").restricted((dataset,), (model,))
    (group,) = cell_groups(spec)
    work, *_ = trainer(GroupTask(group, load_task(spec.protocol, dataset, 0.0)))
    work(SHORT)
    with torch.profiler.profile() as profiler:
        work(PROFILED)
    rows = sorted(profiler.key_averages(), key=lambda row: -row.self_cpu_time_total)
    whole = sum(row.self_cpu_time_total for row in rows)
    shares = {row.key: round(100 * row.self_cpu_time_total / whole, 1) for row in rows[:TOP]}
    return {"cell": f"{dataset} {model}", "epochs": PROFILED, "shares": shares}


def replace_row(record: dict, name: str, row: dict[str, object]) -> None:
    """Puts `row` in the place of the one of the same cell."""
    others = [other for other in record.get(name, []) if other["cell"] != row["cell"]]
    record[name] = [*others, row]
    print(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--grid", nargs=2, metavar=("DATASET", "MODEL"))
    parser.add_argument("--sample", type=int, default=64)
    parser.add_argument("--profile", nargs=2, metavar=("DATASET", "MODEL"))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    record = json.loads(given.output.read_text()) if given.output.exists() else {}
    measured: dict[str, float] = record.setdefault("epoch_seconds", {})

    def save() -> None:
        groups = [group for name in STUDIES for group in cell_groups(load_spec(name))]
        keys = [f"{g.study.name} {g.dataset} {g.group}" for g in groups]
        known = zip(groups, keys, strict=True)
        rows = [row_of(g, measured[key]) for g, key in known if key in measured]
        record["left"] = [row for row in rows if row["left"]]
        record["hours_left"] = round(sum(row["hours_left"] for row in record["left"]), 2)
        given.output.write_text(json.dumps(record, indent=1) + "\n")

    if given.grid:
        replace_row(record, "grids", grid_sample(*given.grid, given.sample))
    elif given.profile:
        replace_row(record, "profiles", epoch_profile(*given.profile))
    else:
        measure(measured, given.only, save)
    save()
    print(f"{record['hours_left']} processor hours left")


if __name__ == "__main__":
    main()
