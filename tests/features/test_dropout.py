"""Dropout masks: a function of (seed, epoch, site, position), and fair."""

import pytest
import torch

from elasticgnn.features import DropoutNoise
from elasticgnn.features import dropout as module
from marks import needs_kernels


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.8, 0.999])
def test_the_share_of_dropped_positions_is_the_rate(rate):
    count = 200_000
    kept = int(DropoutNoise(7, 3).keep(count, rate, 0).sum())
    spread = (count * rate * (1 - rate)) ** 0.5
    assert abs(kept - count * (1 - rate)) <= 5 * spread


def test_masks_of_other_seeds_epochs_and_sites_are_unrelated():
    masks = [
        DropoutNoise(seed, epoch).keep(100_000, 0.5, site).double() - 0.5
        for seed, epoch, site in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 2, 0)]
    ]
    correlation = torch.corrcoef(torch.stack(masks)) - torch.eye(len(masks))
    assert float(correlation.abs().max()) < 5 / 100_000**0.5


def test_neighbouring_positions_are_unrelated():
    mask = DropoutNoise(0).keep(100_000, 0.5, 0).double() - 0.5
    for lag in (1, 2, 16, 64):
        product = float((mask[lag:] * mask[:-lag]).mean()) * 4
        assert abs(product) < 5 / 100_000**0.5


def test_a_longer_mask_begins_with_the_shorter_one():
    noise = DropoutNoise(5, 9)
    assert torch.equal(noise.keep(1000, 0.3, 1)[:17], noise.keep(17, 0.3, 1))


@needs_kernels
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 1000])
def test_compiled_masks_equal_the_plain_hash(count):
    noise = DropoutNoise(2**62 + 11, 499)
    plain = module.hash_positions(count, noise.key(1)) >= module.drop_threshold(0.8)
    assert torch.equal(noise.keep(count, 0.8, 1), plain)


def test_dropped_values_keep_their_expectation():
    x = torch.ones(100_000)
    assert abs(float(DropoutNoise(1)(x, 0.8, 0).mean()) - 1) < 0.05


def test_without_a_rate_nothing_changes():
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    assert DropoutNoise(1)(x, 0.0, 0) is x


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2.0, float("nan")])
def test_a_rate_outside_0_to_1_is_refused(rate):
    with pytest.raises(ValueError, match=r"dropout must be in \[0, 1\)"):
        DropoutNoise(0).keep(3, rate, 0)
