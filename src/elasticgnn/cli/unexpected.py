"""What no command foresaw: one line for the user, everything else in a file."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback

from elasticgnn.cli.say import say
from elasticgnn.files import hide_password, one_line
from elasticgnn.versions import package_versions

PACKAGES = ("elasticgnn", "torch", "numpy", "scipy")
UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h


def was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is what led to the error.

    A compiled module that is interrupted while it is loaded says that it could not be loaded.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def report_unexpected(error: BaseException, arguments: list[str]) -> int:
    """Says what failed and where the details are; the exit code."""
    reason = "not enough memory" if isinstance(error, MemoryError) else one_line(str(error))[:300]
    try:
        place = f"details in {write_details(error, arguments)}"
    except OSError as unwritten:
        place = f"details could not be written ({one_line(str(unwritten))})"
    say(
        f"internal error: {type(error).__name__}: {reason}; {place}, "
        "or run again with --debug (this is a defect: please report it)",
        file=sys.stderr,
    )
    return UNEXPECTED


def write_details(error: BaseException, arguments: list[str]) -> str:
    """A file of its own with traceback, versions and the command, readable by its owner only."""
    handle, name = tempfile.mkstemp(prefix="elasticgnn-error-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"elasticgnn {' '.join(map(hide_password, arguments))}\n{platform.platform()}\n")
        file.write(f"{package_versions(PACKAGES)}\n\n")
        file.writelines(traceback.format_exception(error))
    return name
