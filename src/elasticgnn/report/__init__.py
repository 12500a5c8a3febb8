"""Tables, figures and one HTML page, from stored results only; nothing here trains."""

from elasticgnn.report.page import write_page as write_page
from elasticgnn.report.table import Table as Table
from elasticgnn.report.table import build_table as build_table
