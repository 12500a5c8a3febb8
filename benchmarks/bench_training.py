"""One epoch of ElasticGNN on Cora against the same model in plain torch; memory on Physics.

The rival: torch.sparse CSR products, dense features, autograd, torch.optim.Adam; an epoch is a
training step and an evaluation. Both sides use the same threads, in one run, medians of rounds
that take turns; the training losses of the first epochs are compared before anything is timed.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout

from elasticgnn.data import NodeTask, Split, load, paper_split
from elasticgnn.kernels import native
from elasticgnn.nn import ModelSettings
from elasticgnn.problem import ElasticPenalty
from elasticgnn.training import Run, TrainingPlan
from elasticgnn.training.population.batch_training import BatchTraining
from elasticgnn.training.population.feature_orders import FeatureOrders, stored
from elasticgnn.training.population.fit_population import new_batch

DROPOUT, LAMBDA, STEPS = 0.8, 3.0, 10
NEEDED = {"single": 10.0, "population": 20.0}


class PlainElastic(nn.Module):
    """The paper's Figure 1 as most people would write it."""

    def __init__(self, task: NodeTask, share_dropout: float = DROPOUT) -> None:
        super().__init__()
        self.first = nn.Linear(task.num_features, 64)
        self.second = nn.Linear(64, task.num_classes)
        graph, self.rate = task.graph, share_dropout
        n, m = graph.num_nodes, graph.num_edges
        scale, edge = graph.scale.float(), torch.arange(m)
        row = torch.stack([edge, edge])
        column = torch.stack([graph.tail, graph.head])
        value = torch.stack([scale[graph.tail], -scale[graph.head]])
        index = torch.stack([row.flatten(), column.flatten()])
        incidence = torch.sparse_coo_tensor(index, value.flatten(), (m, n))
        smooth = torch.eye(n).to_sparse() - torch.sparse.mm(incidence.t(), incidence)
        self.difference = incidence.to_sparse_csr()
        self.divergence = incidence.t().to_sparse_csr()
        self.smooth = smooth.coalesce().to_sparse_csr()

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(dropout(x, self.rate, self.training)).relu()
        x = self.second(dropout(hidden, self.rate, self.training))
        gamma, beta = 1 / (1 + LAMBDA), (1 + LAMBDA) / 2
        signal, dual = x, x.new_zeros(self.difference.shape[0], x.shape[1])
        for _ in range(STEPS):
            y = gamma * x + (1 - gamma) * (self.smooth @ signal)
            ahead = y - gamma * (self.divergence @ dual)
            dual = dual + beta * (self.difference @ ahead)
            length = dual.norm(dim=1, keepdim=True)
            dual = dual * (LAMBDA / length.clamp(min=LAMBDA))
            signal = y - gamma * (self.divergence @ dual)
        return signal


class PlainTraining:
    """Epochs of the rival."""

    def __init__(self, task: NodeTask, split: Split, rate: float = DROPOUT) -> None:
        self.x, self.labels, self.split = task.features.to_dense(), task.labels, split
        self.model = PlainElastic(task, rate)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01, weight_decay=5e-4)

    def epoch(self) -> float:
        self.model.train()
        self.optimizer.zero_grad()
        train, val = self.split.train, self.split.val
        loss = cross_entropy(self.model(self.x)[train], self.labels[train])
        loss.backward()
        self.optimizer.step()
        self.model.eval()
        with torch.no_grad():
            logits = self.model(self.x)
            cross_entropy(logits[val], self.labels[val])
            for part in (val, self.split.test):
                (logits[part].argmax(1) == self.labels[part]).double().mean()
        return float(loss.detach())


class OurTraining:
    """Epochs of `count` runs side by side; without dropout they can be compared with the rival."""

    def __init__(self, task: NodeTask, split: Split, count: int, rate: float = DROPOUT) -> None:
        runs = [Run(split, seed=k, dropout=rate) for k in range(count)]
        settings = ModelSettings(dropout=rate)
        batch = new_batch(task, FeatureOrders(stored(task.features)), runs, settings)
        self.together = BatchTraining(
            task, runs, batch, ElasticPenalty(0.0, 0.0), STEPS, TrainingPlan()
        )
        self.number = 0

    def epoch(self) -> float:
        self.together.train_epoch(self.number)
        self.together.evaluate()
        self.number += 1
        return float(self.together.train.loss[0])


def check_equal(task: NodeTask, split: Split) -> float:
    """Largest difference of training losses over 5 epochs from equal weights, no dropout."""
    ours, plain = OurTraining(task, split, 1, 0.0), PlainTraining(task, split, 0.0)
    weights = ours.together.batch.state(0)
    with torch.no_grad():
        plain.model.first.weight.copy_(weights["backbone.first.weight"].T)
        plain.model.first.bias.copy_(weights["backbone.first.bias"])
        plain.model.second.weight.copy_(weights["backbone.others.0.weight"])
        plain.model.second.bias.copy_(weights["backbone.others.0.bias"])
    return max(abs(ours.epoch() - plain.epoch()) for _ in range(5))


def seconds(training: PlainTraining | OurTraining, epochs: int) -> float:
    began = time.perf_counter()
    for _ in range(epochs):
        training.epoch()
    return (time.perf_counter() - began) / epochs


def compare(task: NodeTask, split: Split, threads: int, rounds: int) -> dict[str, float]:
    """Milliseconds per run and epoch of each side, and the ratios."""
    torch.set_num_threads(threads)
    sides = {
        "plain": (PlainTraining(task, split), 3, 1),
        "single": (OurTraining(task, split, 1), 20, 1),
        "population": (OurTraining(task, split, 10), 5, 10),
        "full population": (OurTraining(task, split, 16), 3, 16),
    }
    found: dict[str, list[float]] = {name: [] for name in sides}
    for training, _, _ in sides.values():
        seconds(training, 2)
    for _ in range(rounds):
        for name, (training, epochs, runs) in sides.items():
            found[name].append(1e3 * seconds(training, epochs) / runs)
    times = {name: statistics.median(values) for name, values in found.items()}
    ratios = {f"{name} ratio": times["plain"] / value for name, value in times.items()}
    return {"threads": threads, **times, **ratios}


def physics_memory(root: str | None) -> None:
    """Trains Physics for three epochs and prints the peak memory of this process in MB."""
    from elasticgnn.training import fit, make_model

    task, generator = load("coauthor-physics", root=root), torch.Generator().manual_seed(0)
    model = make_model("elastic", task, generator)
    history = fit(model, task, paper_split(task, generator), TrainingPlan(epochs=3), generator)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak_mb": peak, "seconds_per_epoch": history.seconds / 3}))


def given_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--data-root", default=None)
    parser.add_argument("--output", type=Path, default=None, help="JSON file")
    parser.add_argument("--physics", action="store_true", help="only the memory on Physics")
    return parser.parse_args()


def main() -> None:
    options = given_options()
    warnings.filterwarnings("ignore", message="Sparse")
    if options.physics:
        return physics_memory(options.data_root)
    task = load("cora")
    split = paper_split(task, torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    apart = check_equal(task, split)
    print(f"Cora, simd {native.simd if native else 'none'}; losses differ by at most {apart:.1e}")
    assert apart < 1e-4, "the two sides must compute the same"
    results = [compare(task, split, threads, options.rounds) for threads in (1, 2)]
    for row in results:
        print(f"{row['threads']} thread(s), ms per run and epoch:")
        for name in ("plain", "single", "population", "full population"):
            need = f" (needed {NEEDED[name]:.0f})" if name in NEEDED else ""
            ratio = f"{row[f'{name} ratio']:6.1f} times faster{need}" if name != "plain" else ""
            print(f"  {name:16} {row[name]:8.2f}  {ratio}")
    command = [sys.executable, __file__, "--physics"]
    if options.data_root:
        command += ["--data-root", options.data_root]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    physics = json.loads(done.stdout) if done.returncode == 0 else None
    print(f"Coauthor Physics: {physics or 'no data here'} (needed: below 3072 MB)")
    if options.output is not None:
        report = {"loss_difference": apart, "cora": results, "physics": physics}
        options.output.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
