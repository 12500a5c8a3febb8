"""Elastic message passing: the plain definition, the fused one, and the function that chooses."""

from elasticgnn.operator.emp import ElasticState as ElasticState
from elasticgnn.operator.emp import elastic_message_passing as elastic_message_passing
from elasticgnn.operator.emp import elastic_state as elastic_state
