"""Node features: what they are stored as, and their product with dense matrices."""

from elasticgnn.features.sparse_features import SparseFeatures as SparseFeatures
