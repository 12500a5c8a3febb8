"""Graphs beyond one machine: partitions, exact message passing and training."""

from elasticgnn.distributed.assignment import partition as partition
from elasticgnn.distributed.fit import Checkpoints as Checkpoints
from elasticgnn.distributed.fit import fit_parts as fit_parts
from elasticgnn.distributed.folder import PartitionFolder as PartitionFolder
from elasticgnn.distributed.graph import DistributedGraph as DistributedGraph
from elasticgnn.distributed.group import process_group as process_group
from elasticgnn.distributed.manifest import verify_partition as verify_partition
from elasticgnn.distributed.writer import write_partition as write_partition
from elasticgnn.operator import elastic_message_passing as elastic_message_passing
