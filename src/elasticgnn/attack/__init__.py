"""Attacks on the graph of a node classification task, and the edges that look inserted."""

from elasticgnn.attack.budget import AttackBudget as AttackBudget
from elasticgnn.attack.constraints import Constraints as Constraints
from elasticgnn.attack.evolution import EvolutionSettings as EvolutionSettings
from elasticgnn.attack.hardening import HARDENED as HARDENED
from elasticgnn.attack.hardening import with_penalty as with_penalty
from elasticgnn.attack.meta import InnerTraining as InnerTraining
from elasticgnn.attack.meta import MetattackSettings as MetattackSettings
from elasticgnn.attack.meta import metattack as metattack
from elasticgnn.attack.methods import METHODS as METHODS
from elasticgnn.attack.other_flips import flip_features as flip_features
from elasticgnn.attack.other_flips import flip_labels as flip_labels
from elasticgnn.attack.perturbation import Perturbation as Perturbation
from elasticgnn.attack.perturbation import load_perturbation as load_perturbation
from elasticgnn.attack.run import attack as attack
from elasticgnn.attack.search import GradientSettings as GradientSettings
from elasticgnn.attack.shipped import shipped as shipped
from elasticgnn.attack.shipped import shipped_names as shipped_names
from elasticgnn.attack.suspicion import EdgeScores as EdgeScores
from elasticgnn.attack.suspicion import mean_scores as mean_scores
from elasticgnn.attack.suspicion import precision_at as precision_at
from elasticgnn.attack.suspicion import roc_area as roc_area
from elasticgnn.attack.suspicion import score_edges as score_edges
from elasticgnn.attack.victim import Retraining as Retraining
