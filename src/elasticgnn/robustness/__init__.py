"""How models hold up: every model under everybody's attacks, by several protocols."""

from elasticgnn.robustness.contestant import Contestant as Contestant
from elasticgnn.robustness.contestant import read_contestant as read_contestant
from elasticgnn.robustness.outcome import Outcome as Outcome
from elasticgnn.robustness.outcome import outcomes as outcomes
from elasticgnn.robustness.outcome import table as table
from elasticgnn.robustness.plan import PROTOCOLS as PROTOCOLS
from elasticgnn.robustness.plan import RobustnessPlan as RobustnessPlan
from elasticgnn.robustness.run import measure_robustness as measure_robustness
