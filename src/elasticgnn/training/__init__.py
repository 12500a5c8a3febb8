"""Training: one loop for any model, and populations of ElasticGNN runs side by side."""

from elasticgnn.training.estimators.classifier import ElasticGNNClassifier as ElasticGNNClassifier
from elasticgnn.training.estimators.regressor import ElasticGNNRegressor as ElasticGNNRegressor
from elasticgnn.training.fit import fit as fit
from elasticgnn.training.loop.history import History as History
from elasticgnn.training.make_model import make_model as make_model
from elasticgnn.training.model.trained_model import TrainedModel as TrainedModel
from elasticgnn.training.model.trained_model import trained_on as trained_on
from elasticgnn.training.plan import TrainingPlan as TrainingPlan
from elasticgnn.training.population import Run as Run
from elasticgnn.training.population import fit_population as fit_population
from elasticgnn.training.prediction.explanation import Explanation as Explanation
from elasticgnn.training.prediction.explanation import NumberExplanation as NumberExplanation
from elasticgnn.training.prediction.explanation import explain as explain
from elasticgnn.training.prediction.explanation import explain_number as explain_number
from elasticgnn.training.prediction.predict import Prediction as Prediction
from elasticgnn.training.prediction.predict import predict as predict
from elasticgnn.training.tuning import Leaderboard as Leaderboard
from elasticgnn.training.tuning import Splitting as Splitting
from elasticgnn.training.tuning import tune as tune
