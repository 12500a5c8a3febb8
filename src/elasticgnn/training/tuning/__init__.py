"""Settings chosen for the data: candidates compared, the best refitted, its worth measured."""

from elasticgnn.training.tuning.leaderboard import Entry as Entry
from elasticgnn.training.tuning.leaderboard import Estimate as Estimate
from elasticgnn.training.tuning.leaderboard import Leaderboard as Leaderboard
from elasticgnn.training.tuning.splitting import Splitting as Splitting
from elasticgnn.training.tuning.tune import tune as tune
