"""Layers and networks."""

from elasticgnn.nn.emp import EMP as EMP
from elasticgnn.nn.settings import ModelSettings as ModelSettings
