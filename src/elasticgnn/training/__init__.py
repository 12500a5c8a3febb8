"""Training: one loop for any model, and populations of ElasticGNN runs side by side."""

from elasticgnn.training.classifier import ElasticGNNClassifier as ElasticGNNClassifier
from elasticgnn.training.explanation import Explanation as Explanation
from elasticgnn.training.explanation import NumberExplanation as NumberExplanation
from elasticgnn.training.explanation import explain as explain
from elasticgnn.training.explanation import explain_number as explain_number
from elasticgnn.training.fit import fit as fit
from elasticgnn.training.history import History as History
from elasticgnn.training.make_model import make_model as make_model
from elasticgnn.training.plan import TrainingPlan as TrainingPlan
from elasticgnn.training.population import Run as Run
from elasticgnn.training.population import fit_population as fit_population
from elasticgnn.training.prediction import Prediction as Prediction
from elasticgnn.training.prediction import predict as predict
from elasticgnn.training.regressor import ElasticGNNRegressor as ElasticGNNRegressor
from elasticgnn.training.trained_model import TrainedModel as TrainedModel
from elasticgnn.training.trained_model import trained_on as trained_on
from elasticgnn.training.tuning import Leaderboard as Leaderboard
from elasticgnn.training.tuning import Splitting as Splitting
from elasticgnn.training.tuning import tune as tune
