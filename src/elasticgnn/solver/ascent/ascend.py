"""The fast method: accelerated dual ascent until the gap certifies."""

from dataclasses import replace

from elasticgnn.solver.ascent import native
from elasticgnn.solver.ascent.backends import Backend, NativeBackend, PlainBackend
from elasticgnn.solver.methods.outcome import Outcome
from elasticgnn.solver.methods.progress import GapProgress
from elasticgnn.solver.methods.stopping import Pace, Patience, Stop
from elasticgnn.solver.pieces.flatten import flat_strength
from elasticgnn.solver.problem.instance import Array, Instance


def make_backend(instance: Instance, flow: Array, guess: Array, rtol: float) -> Backend:
    """The compiled loops where they apply, in float32 as far as that carries."""
    if native.is_available(instance):
        return NativeBackend(instance, flow, guess, rtol=rtol)
    return PlainBackend(instance, flow, guess)


def ascend(instance: Instance, stop: Stop, flow: Array, guess: Array) -> Outcome:
    """Signal and flow once their gap is small enough; Ctrl-C returns the best pair so far."""
    # a larger ball changes nothing but the range of the numbers
    strength = min(instance.lambda1, flat_strength(instance))
    backend = make_backend(replace(instance, lambda1=strength), flow, guess, stop.rtol)
    steps = min(stop.unchecked_steps, stop.last_step)
    backend.advance(steps)
    best, interrupted = backend.check(), False
    pace = Pace(stop.rtol, best.measure, patient=not len(instance.missing))
    patience = Patience(steps, best.measure.gap)
    with GapProgress(stop.rtol, stop.callback) as progress:
        try:
            while not best.measure.is_final(stop.rtol) and steps < stop.last_step:
                block = min(pace.block(steps), stop.last_step - steps)
                backend.advance(block)
                steps += block
                now = backend.check()
                pace = pace.after(block, now.measure)
                patience.note(steps, now.measure.gap)
                best = min(best, now, key=lambda check: check.measure.gap)
                progress.show(steps, best.measure.relative_gap)
                if len(instance.missing):
                    backend.follow(now.raw)
                if backend.is_coarse and patience.has_left_float32(steps):
                    backend.sharpen()
                elif patience.has_ended(steps):
                    break
        except KeyboardInterrupt:
            interrupted = True  # the best pair so far is an answer; `certified` says how good
    return Outcome(backend.export(best.signal), best.flow, steps, interrupted)
