"""The page about one trained model: its worth, its doubts, its graph."""

from elasticgnn.report.model.findings import ModelFindings as ModelFindings
from elasticgnn.report.model.findings import find as find
from elasticgnn.report.model.number_findings import find_numbers as find_numbers
from elasticgnn.report.model.page import write_model_page as write_model_page
from elasticgnn.report.model.picture import save_worth as save_worth
