"""Metattack without any (n, n) object: factors of the exact meta-gradient, scanned in blocks."""

from elasticgnn.attack.meta.inner import InnerTraining as InnerTraining
from elasticgnn.attack.meta.loop import metattack as metattack
from elasticgnn.attack.meta.settings import MetattackSettings as MetattackSettings
