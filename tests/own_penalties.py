"""Penalties as a user writes them, for tests and as a pattern."""

import torch

from elasticgnn.problem import EdgePenalty

WIDTH = 0.4  # of Huber's parabola


class Huber(EdgePenalty):
    """lambda1 r^2 / (2 WIDTH) up to r = WIDTH, lambda1 (r - WIDTH / 2) beyond; r = |delta|."""

    name = "huber"

    def value(self, difference, lambda1):
        square = difference.square().sum(-1)
        length = torch.where(square > WIDTH**2, square, 1).sqrt()
        return lambda1 * torch.where(square > WIDTH**2, length - WIDTH / 2, square / (2 * WIDTH))

    def prox(self, point, lambda1, step):
        square = point.square().sum(-1, keepdim=True)
        linear = square > (WIDTH + step * lambda1) ** 2
        length = torch.where(linear, square, 1).sqrt()
        shrunk = 1 - step * lambda1 / length
        return point * torch.where(linear, shrunk, WIDTH / (WIDTH + step * lambda1))


class CertifiedHuber(Huber):
    """The same with its conjugate."""

    name = "certified huber"

    def conjugate(self, dual, lambda1):
        radius = torch.as_tensor(lambda1, dtype=dual.dtype)
        radius = radius.squeeze(-1) if radius.ndim else radius
        square = dual.square().sum(-1)
        return torch.where(
            square > (radius * (1 + 1e-12)) ** 2, torch.inf, WIDTH * square / (2 * radius)
        )


class Dent(Huber):
    """A penalty that says it is not convex."""

    name = "dent"
    curvature = 0.6
