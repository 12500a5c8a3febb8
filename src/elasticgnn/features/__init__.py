"""Node features: what they are stored as, and their product with dense matrices."""

from elasticgnn.features.dropout import DropoutNoise as DropoutNoise
from elasticgnn.features.dropout import draw_seed as draw_seed
from elasticgnn.features.product import feature_product as feature_product
from elasticgnn.features.sparse_features import SparseFeatures as SparseFeatures
