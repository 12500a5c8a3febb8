"""Elastic message passing: the plain definition, the compiled routes, and the choice of one."""

from elasticgnn.operator.emp import ElasticState as ElasticState
from elasticgnn.operator.emp import elastic_message_passing as elastic_message_passing
from elasticgnn.operator.emp import elastic_state as elastic_state
from elasticgnn.operator.emp import explain_route as explain_route
from elasticgnn.operator.routes import RouteReport as RouteReport
