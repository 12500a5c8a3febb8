"""Peak memory of one call: what torch's allocator sees, and the scratch of the loops."""

from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

from elasticgnn.kernels import native
from elasticgnn.operator.saved_rows import pool


def peak_bytes(call: Callable[[], object]) -> int:
    """The largest sum of tensors alive at once during `call`, beyond those alive before it.

    The largest scratch that the compiled loops took during the call is added, and what they saved
    in large blocks: they hold it at the peak, or less.
    """
    call()
    native.scratch_clear()
    pool.clear()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        result = call()
    del result
    return _peak(record) + native.scratch_most() + pool.most


def _peak(record: profile) -> int:
    alive = peak = 0
    changes = [
        (event.start_time_ns, event.extra_fields.alloc_size)
        for event in _walk(record.profiler.kineto_results.experimental_event_tree())
        if event.tag == torch._C._profiler._EventType.Allocation
    ]
    for _, change in sorted(changes, key=lambda pair: pair[0]):
        alive += change
        peak = max(peak, alive)
    return peak


def _walk(events):
    for event in events:
        yield event
        yield from _walk(event.children)
