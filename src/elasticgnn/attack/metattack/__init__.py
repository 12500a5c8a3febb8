"""Metattack without any (n, n) object: factors of the exact meta-gradient, scanned in blocks."""

from elasticgnn.attack.metattack.inner import InnerTraining as InnerTraining
from elasticgnn.attack.metattack.loop import metattack as metattack
from elasticgnn.attack.metattack.settings import MetattackSettings as MetattackSettings
