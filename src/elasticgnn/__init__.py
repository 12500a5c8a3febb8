"""Learning on graphs whose edges cannot all be trusted."""

from importlib.metadata import version

from elasticgnn.graph import Graph as Graph
from elasticgnn.operator import elastic_message_passing as elastic_message_passing
from elasticgnn.problem import ElasticPenalty as ElasticPenalty

__version__ = version("elasticgnn")
