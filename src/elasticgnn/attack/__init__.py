"""Attacks on the graph of a node classification task, and the edges that look inserted."""

from elasticgnn.attack.attack import METHODS as METHODS
from elasticgnn.attack.attack import attack as attack
from elasticgnn.attack.budget import AttackBudget as AttackBudget
from elasticgnn.attack.constraints import Constraints as Constraints
from elasticgnn.attack.metattack import InnerTraining as InnerTraining
from elasticgnn.attack.metattack import MetattackSettings as MetattackSettings
from elasticgnn.attack.metattack import metattack as metattack
from elasticgnn.attack.perturbation import Perturbation as Perturbation
from elasticgnn.attack.perturbation import load_perturbation as load_perturbation
from elasticgnn.attack.prbcd import GradientSettings as GradientSettings
from elasticgnn.attack.victim import Retraining as Retraining
