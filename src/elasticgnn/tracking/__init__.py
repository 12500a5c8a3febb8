"""What training, studies and the solver tell while they work, and who writes it down."""

from elasticgnn.tracking.callback import Callback as Callback
from elasticgnn.tracking.callback import together as together
from elasticgnn.tracking.mlflow_writer import MLflowWriter as MLflowWriter
from elasticgnn.tracking.tensorboard_writer import TensorBoardWriter as TensorBoardWriter
