"""A study of seconds and the worker that trains it: importable, so that processes can run it."""

from dataclasses import replace

import torch

from elasticgnn.experiment import WorkPlan, cut_down, load_spec, run_study


def small_study():
    spec = load_spec("table2").restricted(models=("gcn", "l2", "l21", "l21+l2"))
    return cut_down(replace(spec, levels=spec.levels[:1]), epochs=6, runs=3, settings=6)


def plan_in(folder, url=None, grace=1.0):
    url = url or f"sqlite:///{folder}/trials.db"
    return WorkPlan(url, folder, width=6, alone=3, grace=grace, poll=0.1)


def work(folder, url, grace=1.0):
    torch.set_num_threads(1)
    run_study(small_study(), plan_in(folder, url, grace))
