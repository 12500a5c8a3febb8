"""One's own files as node classification tasks."""

from elasticgnn.data.own.read_task import read_task as read_task
