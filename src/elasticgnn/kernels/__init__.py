"""The compiled loops: `native` is the extension module, or None where it was not built."""

from elasticgnn.kernels.load import MissingKernelsWarning as MissingKernelsWarning
from elasticgnn.kernels.load import native as native
from elasticgnn.kernels.load import warn_once_if_missing as warn_once_if_missing
