"""A noisy step denoised at ten strengths; every solution carries a proof of optimality."""

import torch

from elasticgnn import Graph
from elasticgnn.solver import lambda1_max, log_grid, minimise_path

chain = Graph.from_edges([(i, i + 1) for i in range(299)], normalization="none")
truth = (torch.arange(300) >= 120).double()[:, None]
noise = torch.randn(300, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
noisy = truth + 0.3 * noise
largest = lambda1_max(noisy, chain).value
path = minimise_path(noisy, chain, log_grid(largest, 10))
for lambda1, solution in zip(path.lambda1s, path, strict=True):
    pieces = len(solution.pieces().unique())
    error = float((solution.value - truth).square().mean().sqrt())
    print(
        f"lambda1 = {lambda1:8.3f}: {pieces:3d} pieces, error {error:.3f}, gap {solution.gap:.1e}"
    )
assert path.certified
