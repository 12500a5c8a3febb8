"""torch's transforms: func, compile, export, jit."""

import torch
from conformity_setting import Setting, question


@question("autocast, bfloat16")
def autocast(s: Setting) -> bool:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return s.close(s.layer(s.x.float(), s.index), tolerance=0.05)


@question("torch.func.grad")
def func_grad(s: Setting) -> bool:
    x = s.x.clone().requires_grad_()
    s.layer(x, s.index).pow(3).sum().backward()
    return s.close(torch.func.grad(lambda x: s.layer(x, s.index).pow(3).sum())(s.x), x.grad)


@question("torch.func.hessian")
def func_hessian(s: Setting) -> bool:
    found = torch.func.hessian(lambda x: s.layer(x, s.index).pow(3).sum())(s.x)
    exact = torch.autograd.functional.hessian(lambda x: s.layer(x, s.index).pow(3).sum(), s.x)
    return s.close(found, exact)


@question("torch.func.jvp")
def func_jvp(s: Setting) -> bool:
    step = 1e-6 * torch.ones_like(s.x)
    slope = (s.layer(s.x + step, s.index) - s.layer(s.x - step, s.index)) / 2e-6
    found = torch.func.jvp(lambda x: s.layer(x, s.index), (s.x,), (torch.ones_like(s.x),))[1]
    return s.close(found, slope, 1e-5)


@question("forward-mode automatic differentiation")
def forward_mode(s: Setting) -> bool:
    import torch.autograd.forward_ad as forward_ad

    step = 1e-6 * torch.ones_like(s.x)
    slope = (s.layer(s.x + step, s.index) - s.layer(s.x - step, s.index)) / 2e-6
    with forward_ad.dual_level():
        out = s.layer(forward_ad.make_dual(s.x, torch.ones_like(s.x)), s.index)
        tangent = forward_ad.unpack_dual(out).tangent
    return tangent is not None and s.close(tangent, slope, 1e-5)


@question("a gradient's cotangent in forward mode")
def pushed_cotangent(s: Setting) -> bool:
    import torch.autograd.forward_ad as forward_ad

    x, direction = s.x.clone().requires_grad_(), s.x.cos()
    out = s.layer(x, s.index)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones_like(out), direction)
        (grad,) = torch.autograd.grad(out, x, dual, retain_graph=True)
        tangent = forward_ad.unpack_dual(grad).tangent
    (exact,) = torch.autograd.grad(out, x, direction)
    return tangent is not None and s.close(tangent, exact)


@question("torch.func.functionalize")
def functionalized(s: Setting) -> bool:
    return s.close(torch.func.functionalize(lambda x: s.layer(x, s.index))(s.x))


@question("torch.func.linearize")
def linearized(s: Setting) -> bool:
    slope = torch.func.jvp(s.run, (s.x,), (s.x.cos(),))[1]
    return s.close(torch.func.linearize(s.run, s.x)[1](s.x.cos()), slope)


@question("make_fx, also of the gradient")
def made_fx(s: Setting) -> bool:
    from torch.fx.experimental.proxy_tensor import make_fx

    slope = torch.func.grad(lambda x: s.run(x).pow(3).sum())
    twice = 2 * s.x
    return s.close(make_fx(s.run)(s.x)(twice), s.run(twice)) and s.close(
        make_fx(slope)(s.x)(twice), slope(twice)
    )


@question("vmap over signals")
def vmapped(s: Setting) -> bool:
    out = torch.func.vmap(lambda x: s.layer(x, s.index))(torch.stack([s.x, 2 * s.x]))
    return s.close(out[0]) and s.close(out[1], s.layer(2 * s.x, s.index))


@question("jacrev and jacfwd agree")
def jacobians(s: Setting) -> bool:
    return s.close(torch.func.jacfwd(s.run)(s.x), torch.func.jacrev(s.run)(s.x))


@question("torch.compile, whole graph, on an edge_index")
def compiled(s: Setting) -> bool:
    torch._dynamo.reset()
    layer = torch.compile(s.layer, fullgraph=True, backend="aot_eager")
    return s.close(layer(s.x, s.index))


@question("torch.export on an edge_index")
def exported(s: Setting) -> bool:
    program = torch.export.export(s.layer, (s.x, s.index))
    return s.close(program.module()(s.x, s.index))


@question("torch.jit.trace")
def traced(s: Setting) -> bool:
    layer = torch.jit.trace(s.layer, (s.x, s.index))
    return s.close(layer(2 * s.x, s.index), s.layer(2 * s.x, s.index))


@question("torch.jit.script")
def scripted(s: Setting) -> bool:
    return s.close(torch.jit.script(s.layer)(s.x, s.index))


@question("inference mode, then training")
def inference(s: Setting) -> bool:
    layer, x = s.layer, s.x.clone().requires_grad_()
    with torch.inference_mode():
        layer(s.x, s.index)
    layer(x, s.index).sum().backward()
    return s.close(layer(s.x, s.index)) and x.grad is not None
