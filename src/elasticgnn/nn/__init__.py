"""Layers and networks."""

from elasticgnn.nn.settings import ModelSettings as ModelSettings
