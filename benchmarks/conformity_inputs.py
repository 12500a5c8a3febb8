"""Graphs and signals in every form that torch and torch_geometric have for them."""

import torch
from conformity_setting import QUESTIONS, Setting, adjacency, question

for _layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
    _name = str(_layout).removeprefix("torch.sparse_").upper()
    QUESTIONS[f"sparse adjacency, {_name}"] = lambda s, layout=_layout: s.close(
        s.layer(s.x, adjacency(s, layout))
    )


@question("gradient of a sparse adjacency's values (COO)")
def gradient_of_coo(s: Setting) -> bool:
    weight, other = s.weight.clone().requires_grad_(), s.weight.clone().requires_grad_()
    s.layer(s.x, adjacency(s, torch.sparse_coo, weight)).pow(2).sum().backward()
    s.layer(s.x, s.index, other).pow(2).sum().backward()
    # a gradient that is missing is wrong, not refused
    return weight.grad is not None and torch.allclose(weight.grad, other.grad)


@question("edge_index as int32")
def int32(s: Setting) -> bool:
    return s.close(s.layer(s.x, s.index.int()))


@question("EdgeIndex of torch_geometric")
def edge_index_class(s: Setting) -> bool:
    from torch_geometric import EdgeIndex

    return s.close(s.layer(s.x, EdgeIndex(s.index, sparse_size=(12, 12), is_undirected=True)))


@question("edge_index that is no contiguous memory")
def strided(s: Setting) -> bool:
    return s.close(s.layer(s.x, s.index.T.contiguous().T))


@question("x that is no contiguous memory")
def strided_x(s: Setting) -> bool:
    return s.close(s.layer(s.x.T.contiguous().T, s.index))


@question("x as a negated view")
def negated(s: Setting) -> bool:
    return s.close(s.layer(torch._neg_view(-s.x), s.index))


@question("one graph without edges")
def no_edges(s: Setting) -> bool:
    return bool(s.layer(s.x, s.index[:, :0]).isfinite().all())


@question("a graph without nodes")
def no_nodes(s: Setting) -> bool:
    return s.layer(s.x[:0], s.index[:, :0]).shape == (0, 3)


@question("edge_index changed in place between calls")
def changed(s: Setting) -> bool:
    layer, index = s.layer, s.index.clone()
    layer(s.x, index)
    other = (index + 1) % 12
    index.copy_(other)
    return s.close(layer(s.x, index), s.layer(s.x, other.clone()))


@question("edge_index changed through .data between calls")
def changed_data(s: Setting) -> bool:
    layer, index = s.layer, s.index.clone()
    layer(s.x, index)
    other = (index + 1) % 12
    index.data[:] = other
    return s.close(layer(s.x, index), s.layer(s.x, other.clone()))


@question("edge weights")
def weights(s: Setting) -> bool:
    out = s.layer(s.x, s.index, s.weight)
    return not s.close(out) and s.close(s.layer(s.x, s.index, torch.ones_like(s.weight)))


@question("gradcheck of x and edge weights")
def gradcheck(s: Setting) -> bool:
    half = s.weight[: len(s.weight) // 2].clone().requires_grad_()
    return torch.autograd.gradcheck(
        lambda x, w: s.layer(x, s.index, w.repeat(2)), (s.x.clone().requires_grad_(), half)
    )


@question("gradgradcheck of x")
def gradgradcheck(s: Setting) -> bool:
    x = s.x.clone().requires_grad_()
    return torch.autograd.gradgradcheck(lambda x: s.layer(x, s.index), (x,), fast_mode=True)


@question("static batch (B, N, F)")
def static_batch(s: Setting) -> bool:
    out = s.layer(torch.stack([s.x, 2 * s.x]), s.index)
    return s.close(out[0]) and s.close(out[1], s.layer(2 * s.x, s.index))


@question("mini-batch of disjoint graphs")
def disjoint(s: Setting) -> bool:
    out = s.layer(torch.cat([s.x, s.x]), torch.cat([s.index, s.index + 12], 1))
    return s.close(out[:12]) and s.close(out[12:])


for _dtype in (torch.float32, torch.float16, torch.bfloat16):
    QUESTIONS[f"x as {str(_dtype).removeprefix('torch.')}"] = lambda s, dtype=_dtype: (
        s.layer(s.x.to(dtype), s.index).dtype == dtype
        and s.close(s.layer(s.x.to(dtype), s.index), tolerance=8 * torch.finfo(dtype).eps)
    )
