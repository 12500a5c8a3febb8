"""What memory costs before it holds anything: seconds of the kernel for a gigabyte.

A virtual machine may tell its host which memory is free and have it taken away; touched again, it
comes from the host. Beside the ratios of the speed job, which hand out gigabytes at every call.
"""

import resource
import time
from pathlib import Path

import torch

from elasticgnn.distributed.zero_rows import zero_rows

GIGABYTES, ROUNDS = 4, 3
REST = 10.0  # seconds in which the host may take free memory back
REPORTED = Path("/sys/module/page_reporting/parameters/reported_kib")


def system_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_stime


def touch() -> float:
    """Seconds of the kernel until each of so many gigabytes is there."""
    began = system_seconds()
    zero_rows(GIGABYTES << 20, 256, torch.float32)[:, 0] = 1.0
    return (system_seconds() - began) / GIGABYTES


def measure_pages() -> dict[str, object]:
    """Seconds a gigabyte of memory that was freed just before, and some seconds before."""
    touch()
    at_once = [touch() for _ in range(ROUNDS)]
    rested = []
    for _ in range(ROUNDS):
        time.sleep(REST)
        rested.append(touch())
    return {
        "gigabytes": GIGABYTES,
        "rest": REST,
        "freed_just_before": at_once,
        "freed_before_the_rest": rested,
        "reports_free_pages": REPORTED.exists(),
    }
