"""What to run: models, attacks, budgets, seeds, and how hard each attack tries."""

import hashlib
import math
from dataclasses import asdict, dataclass, field, replace

from elasticgnn.attack import EvolutionSettings, GradientSettings, MetattackSettings, Retraining
from elasticgnn.attack.methods import METHODS, SHARED_METHODS
from elasticgnn.data import NodeTask
from elasticgnn.robustness.contestant import Contestant
from elasticgnn.robustness.store import OTHER_KINDS, Row
from elasticgnn.training import TrainingPlan

PROTOCOLS = ("evasion", "inductive", "poisoning", "local")
SHIPPED = "shipped"  # the attacked graphs that come with the package: transfer without a search
DEGREES = ((1, 1), (2, 2), (3, 3), (5, 5), (8, 10), (15, 25))  # classes of local targets


@dataclass(frozen=True)
class RobustnessPlan:
    """Every model under everybody's attacks at every rate, with several seeds.

    evasion: models are trained on the clean graph and attacked at prediction. inductive: the same,
    but training sees no edge of a test node. poisoning: the graph is changed before training; the
    attacker's own network trains from scratch while it attacks. local: each target alone, a rate
    being a share of its degree; `targets` nodes in all, as many of each of DEGREES, or the 120 of
    each published split (`public_targets`; seeds are then the numbers of these splits).

    >>> from elasticgnn.robustness import RobustnessPlan, read_contestant
    >>> models = (read_contestant("gcn", ModelSettings()),)
    >>> RobustnessPlan(models, rates=(0.05,), seeds=(0,)).protocol
    'evasion'
    """

    models: tuple[Contestant, ...]
    attacks: tuple[str, ...] = ("prbcd",)
    rates: tuple[float, ...] = (0.05, 0.1, 0.15, 0.25)
    seeds: tuple[int, ...] = (0, 1, 2)
    protocol: str = "evasion"
    training: TrainingPlan = field(default_factory=lambda: TrainingPlan(epochs=200))
    metattack: MetattackSettings = field(default_factory=MetattackSettings)
    gradient: GradientSettings = field(default_factory=GradientSettings)
    evolution: EvolutionSettings = field(default_factory=EvolutionSettings)
    poisoning: Retraining = field(default_factory=Retraining)
    targets: int = 30
    public_targets: bool = False

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol must be one of {PROTOCOLS}, got {self.protocol!r}")
        known = (*METHODS, *OTHER_KINDS, SHIPPED)
        unknown = set(self.attacks) - set(known)
        if unknown:
            raise ValueError(f"attacks must be among {known}, got {sorted(unknown)}")
        if not self.models or not self.attacks or not self.seeds:
            raise ValueError("plan must have models, attacks and seeds, got none of one")
        if any(not 0 <= rate < math.inf for rate in self.rates) or not self.rates:
            raise ValueError(f"rates must be numbers >= 0, got {self.rates}")
        if min(self.seeds) < 0:
            raise ValueError(f"seeds must be >= 0, got {min(self.seeds)}")
        if self.targets < 1:
            raise ValueError(f"targets must be >= 1, got {self.targets}")
        if len({each.name for each in self.models}) < len(self.models):
            raise ValueError("models must have different names, got one twice")
        self.check_protocol()

    def check_protocol(self) -> None:
        """Refuses attacks that the protocol has no place for."""
        wrong = {name for name in self.attacks if not self.has_place(name)}
        if self.public_targets and self.protocol != "local":
            raise ValueError(f"protocol must be 'local' for public targets, got {self.protocol!r}")
        if wrong:
            fitting = [name for name in (*METHODS, *OTHER_KINDS, SHIPPED) if self.has_place(name)]
            raise ValueError(
                f"attacks must fit protocol {self.protocol!r} ({', '.join(fitting)}), "
                f"got {sorted(wrong)}"
            )
        if "labels" in self.attacks and max(self.rates) > 1:
            raise ValueError(f"rates must be at most 1 for labels, got {max(self.rates)}")

    def has_place(self, attack: str) -> bool:
        """Whether the protocol has a place for an attack."""
        if self.protocol == "poisoning":
            return attack in ("prbcd", "labels", *SHARED_METHODS)
        if self.protocol == "local":
            return attack in ("prbcd", "grbcd", "eva")
        return attack not in ("metattack", "labels")

    @property
    def budgets(self) -> tuple[float, ...]:
        """The rates that flip something, ascending."""
        return tuple(sorted({rate for rate in self.rates if rate > 0}))

    def asks_for(self, row: Row) -> bool:
        """Whether a row answers the plan: stored ones may be of other seeds, attacks and rates."""
        kinds = ("none", *self.attacks)
        return row.seed in self.seeds and row.attack in kinds and row.rate in (0, *self.budgets)

    def digest(self, task: NodeTask) -> str:
        """Names a file of rows: those of other data, models or efforts never mix."""
        efforts = [asdict(part) for part in (self.training, self.metattack, self.gradient)]
        efforts += [asdict(part) for part in (self.evolution, self.poisoning)]
        bases = [asdict(each.settings) for each in self.models]
        bases += [asdict(part.settings) for each in self.models for part in each.variants]
        names = [each.name for each in self.models]
        described = f"{task.fingerprint} {self.protocol} {names} {bases} {efforts} {self.targets}"
        described += f" {DEGREES}" if self.protocol == "local" else ""
        described += " public targets" if self.public_targets else ""
        described += "".join(f" {each.source}" for each in self.models if each.source)
        return hashlib.sha256(described.encode()).hexdigest()[:12]


def quick(plan: RobustnessPlan, epochs: int) -> RobustnessPlan:
    """The same plan with gradient attacks of another length."""
    fresh = min(plan.gradient.fresh_epochs, 4 * epochs // 5)
    return replace(plan, gradient=replace(plan.gradient, epochs=epochs, fresh_epochs=fresh))
