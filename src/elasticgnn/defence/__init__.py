"""Networks that were proposed against attacks on the graph, as rivals of ElasticGNN."""

from elasticgnn.defence.adversarial import fit_adversarially as fit_adversarially
from elasticgnn.defence.confidence_gated import ConfidenceGated as ConfidenceGated
from elasticgnn.defence.gnnguard import GNNGuard as GNNGuard
from elasticgnn.defence.gprgnn import GPRGNN as GPRGNN
from elasticgnn.defence.jaccard import Jaccard as Jaccard
from elasticgnn.defence.rung import RUNG as RUNG
from elasticgnn.defence.soft_median import SoftMedian as SoftMedian
