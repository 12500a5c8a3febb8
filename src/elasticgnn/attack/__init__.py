"""Attacks on the graph of a node classification task, and the edges that look inserted."""

from elasticgnn.attack.budget import AttackBudget as AttackBudget
from elasticgnn.attack.constraints import Constraints as Constraints
from elasticgnn.attack.meta import InnerTraining as InnerTraining
from elasticgnn.attack.meta import MetattackSettings as MetattackSettings
from elasticgnn.attack.meta import metattack as metattack
from elasticgnn.attack.perturbation import Perturbation as Perturbation
from elasticgnn.attack.perturbation import load_perturbation as load_perturbation
from elasticgnn.attack.prbcd import GradientSettings as GradientSettings
from elasticgnn.attack.run import METHODS as METHODS
from elasticgnn.attack.run import attack as attack
from elasticgnn.attack.victim import Retraining as Retraining
