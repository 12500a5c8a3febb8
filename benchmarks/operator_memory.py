"""Peak memory of one call, as torch's allocator sees it."""

from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

from elasticgnn.operator.workspace import workspace


def peak_bytes(call: Callable[[], object]) -> int:
    """The largest sum of tensors alive at once during `call`, beyond those alive before it.

    The compiled loops take all their scratch from torch; what is kept of it from call to call is
    given back before, so that it is counted in full.
    """
    call()
    workspace.clear()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        result = call()
    del result
    return _peak(record)


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
