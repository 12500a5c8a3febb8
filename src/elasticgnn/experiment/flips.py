"""A study on a graph that `elasticgnn attack` has changed: kept apart from all other results."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from elasticgnn.attack.perturbation import Perturbation, component_task, load_perturbation
from elasticgnn.data import NodeTask
from elasticgnn.experiment.cells import CellGroup
from elasticgnn.experiment.spec import StudySpec
from elasticgnn.experiment.tasks import clean_task


@dataclass(frozen=True)
class AttackRecord:
    """What a result says of the attack: file, its digest, the clean graph, how much was flipped."""

    file: str
    digest: str
    fingerprint: str
    method: str
    flips: int
    rate: float


@dataclass(frozen=True)
class FlipFile:
    """A file of flipped edges."""

    path: Path

    @cached_property
    def perturbation(self) -> Perturbation:
        """The flips in the file."""
        return load_perturbation(self.path)

    @cached_property
    def digest(self) -> str:
        """Twelve hex digits of the content: equal files are one attack, whatever their names."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:12]

    def clean(self, spec: StudySpec, dataset: str, root: Path | None) -> NodeTask:
        """The graph before the attack; refused if it is not the one that was attacked."""
        wanted = self.perturbation.fingerprint
        task = clean_task(spec.protocol, dataset, self.perturbation.task, root)
        for found in (task, component_task(task)):
            if found.graph.fingerprint == wanted:
                return found
        raise ValueError(
            f"{self.path.name} must be an attack on {dataset} ({task.graph.fingerprint[:12]}), "
            f"got one on {self.perturbation.task or 'another graph'} ({wanted[:12]})"
        )

    def attacked(self, group: CellGroup, root: Path | None) -> tuple[NodeTask, AttackRecord]:
        """The data of a group, and what its results say of the attack.

        Along an axis of rates the level is the share of edges flipped; else all flips are.
        """
        clean = self.clean(group.study, group.dataset, root)
        flips = self.perturbation
        upto = group.level if group.study.axis == "rate" else None
        count, edges = flips.count(clean.graph, upto), clean.graph.num_edges
        record = AttackRecord(
            file=self.path.name,
            digest=self.digest,
            fingerprint=flips.fingerprint,
            method=flips.method,
            flips=count,
            rate=round(count / edges, 6),
        )
        return flips.apply_to(clean, upto), record


def attacked_study(spec: StudySpec, flips: FlipFile) -> StudySpec:
    """The study with results of its own; the paper has no numbers for them."""
    what = f"{flips.path.name} ({flips.perturbation.method}, digest {flips.digest})"
    return replace(
        spec,
        title=f"{spec.title}, attacked by {what}",
        pool=f"{spec.pool}-attack-{flips.digest}",
        protocol=replace(spec.protocol, attack=flips.digest),
        paper={},
        remarks=(),
    )


def check_flips(spec: StudySpec, flips: FlipFile, root: Path | None) -> None:
    """Refuses data sets that were not attacked, and rates beyond the stored flips."""
    for dataset in spec.datasets:
        graph = flips.clean(spec, dataset, root).graph
        if spec.axis == "rate":
            flips.perturbation.count(graph, max(spec.levels))
