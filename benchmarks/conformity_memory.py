"""Checkpoints, hooks, threads, processes and files."""

import copy
import io
import multiprocessing
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
from conformity_setting import Setting, question
from torch import Tensor, nn


@question("checkpointing (torch.utils.checkpoint)")
def checkpointed(s: Setting) -> bool:
    from torch.utils.checkpoint import checkpoint

    x, y = s.x.clone().requires_grad_(), s.x.clone().requires_grad_()
    layer = s.layer
    checkpoint(layer, x, s.index, use_reentrant=False).pow(2).sum().backward()
    layer(y, s.index).pow(2).sum().backward()
    return s.close(x.grad, y.grad)


@question("reentrant checkpointing of a network with dropout")
def checkpointed_with_dropout(s: Setting) -> bool:
    from torch.utils.checkpoint import checkpoint

    layer, found = s.layer, []

    def run(x: Tensor) -> Tensor:
        return layer(nn.functional.dropout(x, 0.5), s.index)

    for call in (run, lambda x: checkpoint(run, x, use_reentrant=True)):
        x = s.x.clone().requires_grad_()
        torch.manual_seed(0)
        call(x).pow(2).sum().backward()
        found.append(x.grad)
    return s.close(*found)


@question("second derivatives through a checkpoint")
def checkpointed_twice(s: Setting) -> bool:
    from torch.utils.checkpoint import checkpoint

    layer, x = s.layer, s.x.clone().requires_grad_()

    def second(out: Tensor) -> Tensor:
        (grad,) = torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)
        return torch.autograd.grad(grad.pow(2).sum(), x)[0]

    through = second(checkpoint(layer, x, s.index, use_reentrant=False))
    return s.close(through, second(layer(x, s.index)))


@question("saved tensors moved by hooks (save_on_cpu)")
def offloaded(s: Setting) -> bool:
    x, layer = s.x.clone().requires_grad_(), s.layer
    with torch.autograd.graph.save_on_cpu():
        out = layer(x, s.index)
    (moved_there,) = torch.autograd.grad(out.pow(2).sum(), x)
    return s.close(moved_there, torch.autograd.grad(layer(x, s.index).pow(2).sum(), x)[0])


@question("a second backward pass is refused unless retain_graph=True")
def passed_twice(s: Setting) -> bool:
    loss = s.layer(s.x.clone().requires_grad_(), s.index).pow(2).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    try:
        loss.backward()
    except RuntimeError:
        return True
    return False


@question("gradcheck where all rows are zero")
def zeros(s: Setting) -> bool:
    layer = s.layer
    return torch.autograd.gradcheck(
        lambda x: layer(x, s.index), torch.zeros_like(s.x).requires_grad_()
    )


@question("a NaN reaches its neighbours and no node out of reach")
def not_a_number(s: Setting) -> bool:
    chain = torch.tensor([[0, 1, 3, 4], [1, 0, 4, 3]])
    x = s.x.clone()
    x[0] = torch.nan
    unknown = s.layer(x, chain).isnan().all(1)
    return bool(unknown[:2].all()) and not bool(unknown[2:].any())


@question("several threads on one layer")
def threads(s: Setting) -> bool:
    layer = s.layer

    def gradient(_: int) -> Tensor:
        x = s.x.clone().requires_grad_()
        return torch.autograd.grad(layer(x, s.index).pow(2).sum(), x)[0]

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(gradient, range(40))]
    return all(torch.equal(one, found[0]) for one in found)


@question("a forked process")
def forked(s: Setting) -> bool:
    layer, expected = s.layer, s.expected  # the threads of the parent exist by now
    child = multiprocessing.get_context("fork").Process(
        target=lambda: sys.exit(0 if s.close(layer(s.x, s.index), expected) else 1)
    )
    child.start()
    child.join(30)
    ended = child.exitcode == 0
    child.kill()
    return ended


@question("anomaly mode")
def anomalous(s: Setting) -> bool:
    x = s.x.clone().requires_grad_()
    with torch.autograd.detect_anomaly():
        s.layer(x, s.index).sum().backward()
    return bool(x.grad is not None and x.grad.isfinite().all())


@question("pickle of the layer")
def pickled(s: Setting) -> bool:
    return s.close(pickle.loads(pickle.dumps(s.layer))(s.x, s.index))


@question("deepcopy of the layer")
def copied(s: Setting) -> bool:
    return s.close(copy.deepcopy(s.layer)(s.x, s.index))


@question("torch.save and load of the state_dict")
def saved(s: Setting) -> bool:
    file, target = io.BytesIO(), s.layer
    torch.save(s.layer.state_dict(), file)
    file.seek(0)
    target.load_state_dict(torch.load(file))
    return s.close(target(s.x, s.index))


@question("forward and backward hooks")
def hooks(s: Setting) -> bool:
    layer, seen, x = s.layer, [], s.x.clone().requires_grad_()
    layer.register_forward_hook(lambda *_: seen.append("forward"))
    layer.register_full_backward_hook(lambda *_: seen.append("backward"))
    layer(x, s.index).sum().backward()
    return seen == ["forward", "backward"]
