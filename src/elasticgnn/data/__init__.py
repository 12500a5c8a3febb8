"""Node classification tasks: the paper's data sets, one's own files, and their splits."""

from elasticgnn.data.catalogue import DataSet as DataSet
from elasticgnn.data.catalogue import catalogue as catalogue
from elasticgnn.data.load import load as load
from elasticgnn.data.own import read_task as read_task
from elasticgnn.data.split import Split as Split
from elasticgnn.data.splits import paper_split as paper_split
from elasticgnn.data.splits import per_class_split as per_class_split
from elasticgnn.data.splits import planetoid_split as planetoid_split
from elasticgnn.data.splits import share_split as share_split
from elasticgnn.data.synthetic import block_model as block_model
from elasticgnn.data.task import NodeTask as NodeTask
from elasticgnn.data.wrong_edges import add_wrong_edges as add_wrong_edges
