"""The losses by their names."""

from elasticgnn.solver.losses.huber import Huber
from elasticgnn.solver.losses.logistic import Logistic
from elasticgnn.solver.losses.loss import Loss
from elasticgnn.solver.losses.poisson import Poisson
from elasticgnn.solver.losses.quantile import Quantile
from elasticgnn.solver.losses.squared import Squared

LOSSES: dict[str, type[Loss]] = {
    kind.name: kind for kind in (Squared, Huber, Quantile, Logistic, Poisson)
}
WITH_A_NUMBER = ("huber", "quantile")


def as_loss(loss: str | Loss) -> Loss:
    """The loss itself, or that of a text: "squared", "huber:1.5", "quantile:0.9", …"""
    if isinstance(loss, Loss):
        return loss
    name, _, number = str(loss).partition(":")
    if name not in LOSSES or (number and name not in WITH_A_NUMBER):
        known = ", ".join(LOSSES)
        raise ValueError(
            f"loss must be one of {known}, with a number as in huber:1.5 or quantile:0.9, "
            f"got {loss!r}"
        )
    if not number:
        return LOSSES[name]()
    try:
        value = float(number)
    except ValueError:
        raise ValueError(f"loss must have a number after its colon, got {loss!r}") from None
    return Huber(value) if name == "huber" else Quantile(value)
