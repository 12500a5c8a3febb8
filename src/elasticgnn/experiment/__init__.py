"""Studies: every table and figure of the paper as a file, run, resumed and stored."""

from elasticgnn.experiment.cells import Cell as Cell
from elasticgnn.experiment.cells import cells as cells
from elasticgnn.experiment.engine import WorkPlan as WorkPlan
from elasticgnn.experiment.engine import run_study as run_study
from elasticgnn.experiment.quick import cut_down as cut_down
from elasticgnn.experiment.record import RunRecord as RunRecord
from elasticgnn.experiment.results import CellResult as CellResult
from elasticgnn.experiment.results import read_result as read_result
from elasticgnn.experiment.setting import Setting as Setting
from elasticgnn.experiment.spec import StudySpec as StudySpec
from elasticgnn.experiment.spec_file import load_spec as load_spec
from elasticgnn.experiment.spec_file import spec_names as spec_names
from elasticgnn.experiment.storage import storage_url as storage_url
from elasticgnn.experiment.variant import with_protocol as with_protocol
from elasticgnn.training.repeats.summary import Summary as Summary
from elasticgnn.training.repeats.summary import summarize as summarize
