"""What an attack leaves behind: the flipped pairs in order, and how they were found."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elasticgnn.data import NodeTask, Split
from elasticgnn.files import write_whole
from elasticgnn.graph import Graph

FORMAT = "elasticgnn perturbation 1"
Setting = str | int | float | bool | None


@dataclass(frozen=True, eq=False)
class Perturbation:
    """Pairs (k, 2) of nodes in the order of their flips; an edge is removed, another pair joined.

    `loss` is the attacker's objective along the way (larger is worse for the victim), `split` the
    nodes the attacker took as labelled. It belongs to one graph and is refused on any other.

    >>> from elasticgnn.attack import AttackBudget, attack
    >>> flips = attack(task, split, AttackBudget(edges=3), "random", generator=generator)
    >>> len(flips), flips.apply(task.graph).num_edges - task.graph.num_edges
    (3, 3)
    """

    pairs: Tensor
    fingerprint: str
    method: str
    seed: int
    loss: tuple[float, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    split: Split | None = None
    task: str = ""

    def __post_init__(self) -> None:
        if self.pairs.ndim != 2 or self.pairs.shape[1] != 2 or self.pairs.dtype != torch.int64:
            shape = tuple(self.pairs.shape)
            raise ValueError(f"pairs must be (k, 2) int64, got {shape} {self.pairs.dtype}")

    def __len__(self) -> int:
        return len(self.pairs)

    def apply(self, graph: Graph, upto: int | float | None = None) -> Graph:
        """The graph after the first `upto` flips: a number, a share of its edges, or all."""
        self.check(graph)
        return graph.with_edges_flipped(self.pairs[: self.count(graph, upto)])

    def apply_to(self, task: NodeTask, upto: int | float | None = None) -> NodeTask:
        """The task on the attacked graph, with the split that the attack was made for.

        Flips found on a graph's largest component cut the task down to it.
        """
        if task.graph.fingerprint != self.fingerprint:
            part = component_task(task)
            task = part if part.graph.fingerprint == self.fingerprint else task
        attacked = task.with_graph(self.apply(task.graph, upto))
        if self.split is None:
            return attacked
        return replace(attacked, split=self.split, split_rule="fixed")

    def count(self, graph: Graph, upto: int | float | None) -> int:
        """How many flips `upto` stands for; more than there are is refused."""
        if upto is None:
            return len(self)
        # 1e-9: the rate is a decimal, its product with the number of edges is rounded
        count = upto if isinstance(upto, int) else int(upto * graph.num_edges + 1e-9)
        if not 0 <= count <= len(self):
            raise ValueError(f"upto must be at most the {len(self)} flips stored, got {upto}")
        return count

    def check(self, graph: Graph) -> None:
        """Refuses a graph other than the one attacked."""
        if graph.fingerprint != self.fingerprint:
            raise ValueError(
                f"graph must be the one that was attacked ({self.fingerprint[:12]}), "
                f"got {graph.fingerprint[:12]}"
            )

    def inserted(self, graph: Graph, upto: int | float | None = None) -> Tensor:
        """Which edges of the attacked graph the attacker put in: (m,) bool, in its edge order."""
        attacked = self.apply(graph, upto)
        size = max(graph.num_nodes, 1)
        return ~torch.isin(attacked.tail * size + attacked.head, graph.tail * size + graph.head)

    def save(self, path: Path) -> None:
        """Writes one JSON object, readable by `load_perturbation`."""
        record: dict[str, Any] = {
            "format": FORMAT,
            "task": self.task,
            "method": self.method,
            "seed": self.seed,
            "settings": dict(self.settings),
            "fingerprint": self.fingerprint,
            "pairs": self.pairs.tolist(),
            "loss": [float(f"{value:.6g}") for value in self.loss],
            "split": None if self.split is None else self.split.to_lists(),
        }
        lines = (
            f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in record.items()
        )
        write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n")


def component_task(task: NodeTask) -> NodeTask:
    """The task on its largest component, without a fixed split; a connected one stays as it is."""
    if task.graph.num_components <= 1:
        return task
    rule = "10-10-80" if task.split_rule == "fixed" else task.split_rule
    return replace(task, split=None, split_rule=rule).largest_component()


def load_perturbation(path: Path) -> Perturbation:
    """The perturbation saved at `path`; no code is run by reading it.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.attack import AttackBudget, attack, load_perturbation
    >>> flips = attack(task, split, AttackBudget(edges=3), "random", generator=generator)
    >>> with TemporaryDirectory() as folder:
    ...     flips.save(Path(folder) / "flips.json")
    ...     len(load_perturbation(Path(folder) / "flips.json"))
    3
    """
    try:
        record = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be a perturbation in JSON, got {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"{path} must be of format {FORMAT!r}, got another file")
    try:
        return from_record(record)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path} must have all fields of {FORMAT!r}, got {error!r}") from None


def from_record(record: Mapping[str, Any]) -> Perturbation:
    """The perturbation of a parsed file."""
    return Perturbation(
        pairs=node_pairs(record["pairs"]),
        fingerprint=str(record["fingerprint"]),
        method=str(record["method"]),
        seed=int(record["seed"]),
        loss=tuple(float(value) for value in record["loss"]),
        settings=dict(record["settings"]),
        split=None if record["split"] is None else Split.from_lists(record["split"]),
        task=str(record["task"]),
    )


def node_pairs(rows: Any) -> Tensor:
    """Rows of two whole numbers as (k, 2); nothing is rounded to a node."""
    for row in rows:
        if len(row) != 2 or not all(type(node) is int and node >= 0 for node in row):
            raise ValueError(f"pairs must be rows of two node numbers, got {row!r}")
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)


def flat_settings(settings: object) -> dict[str, Setting]:
    """Settings as one level of names, for the record."""
    record: dict[str, Setting] = {}

    def put(prefix: str, value: Any) -> None:
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        if isinstance(value, dict):
            for key, part in value.items():
                put(f"{prefix}.{key}" if prefix else key, part)
        else:
            record[prefix] = value

    put("", settings)
    return record
