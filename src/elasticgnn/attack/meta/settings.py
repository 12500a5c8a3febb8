"""The options of Metattack."""

from dataclasses import dataclass, field

from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.losses import find_loss
from elasticgnn.attack.meta.inner import InnerTraining

OBJECTIVES = ("self", "train", "both")
FEATURES = ("auto", "binary", "given")
DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class MetattackSettings:
    """Zügner & Günnemann 2019 with its usual values.

    objective: the loss to raise, on unlabelled nodes with predicted labels ("self", Meta-Self), on
    labelled ones ("train"), or the mean of the two ("both"). approximate: A-Meta, which sums the
    loss's direct derivative over the training steps instead of differentiating through them.
    starts: initial weights whose gradients are added up before each flip. redraw: these weights are
    drawn anew for each gradient; False draws them once for the whole attack (the authors' code).
    features: "binary" trains the surrogate on which words occur, whatever their weight ("auto":
    when less than half of the matrix is filled), because the inner loop's fixed step needs it.

    >>> from elasticgnn.attack import InnerTraining, MetattackSettings
    >>> MetattackSettings(inner=InnerTraining(steps=10)).objective
    'self'
    """

    objective: str = "self"
    loss: str = "cross_entropy"
    approximate: bool = False
    flips_per_step: int = 1
    starts: int = 1
    redraw: bool = True
    inner: InnerTraining = field(default_factory=InnerTraining)
    constraints: Constraints = field(default_factory=Constraints)
    features: str = "auto"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        for name, options in (("objective", OBJECTIVES), ("features", FEATURES), ("dtype", DTYPES)):
            if getattr(self, name) not in options:
                raise ValueError(f"{name} must be one of {options}, got {getattr(self, name)!r}")
        find_loss(self.loss)
        for name in ("flips_per_step", "starts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
