"""Models by their settings."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from elasticgnn.features.dropout import draw_seed
from elasticgnn.nn.appnp import APPNP
from elasticgnn.nn.cheb import ChebNet
from elasticgnn.nn.elastic import ElasticGNN
from elasticgnn.nn.gat import GAT
from elasticgnn.nn.gcn import GCN, draw_gcn
from elasticgnn.nn.mlp import MLP
from elasticgnn.nn.sage import GraphSAGE
from elasticgnn.nn.settings import ModelSettings
from elasticgnn.nn.sgc import SGC
from elasticgnn.problem import ElasticPenalty


def build_model(
    settings: ModelSettings, in_channels: int, out_channels: int, generator: torch.Generator
) -> nn.Module:
    """The model of `settings`, its weights drawn from `generator` alone.

    >>> from elasticgnn.nn import build_model
    >>> build_model(ModelSettings("sgc"), 16, 2, generator).K
    2
    """
    with borrowed_state(generator):
        return construct(settings, in_channels, out_channels)


def build_weights(
    settings: ModelSettings, in_channels: int, out_channels: int, generator: torch.Generator
) -> dict[str, Tensor]:
    """The weights of `build_model`'s model by name; a GCN's without torch_geometric."""
    with borrowed_state(generator):
        if settings.name == "gcn":
            return draw_gcn(in_channels, settings.hidden_channels, out_channels)
        return construct(settings, in_channels, out_channels).state_dict()


@contextmanager
def borrowed_state(generator: torch.Generator) -> Iterator[None]:
    """torch's global state, from which layers initialise themselves, seeded by `generator`."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(draw_seed(generator))
        yield


def construct(s: ModelSettings, in_channels: int, out_channels: int) -> nn.Module:
    """The model of settings `s`, its weights drawn from torch's global state."""
    ends = (in_channels, s.hidden_channels, out_channels)
    if s.name == "elastic":
        penalty = ElasticPenalty(s.lambda1, s.lambda2, s.norm, s.concavity)
        return ElasticGNN(*ends, s.num_layers, s.dropout, penalty, s.steps, batch_norm=s.batch_norm)
    if s.name == "mlp":
        return MLP(*ends, s.num_layers, s.dropout, s.batch_norm)
    if s.name == "appnp":
        return APPNP(*ends, s.dropout, s.steps, s.alpha)
    if s.name == "gat":
        return GAT(*ends, s.dropout, s.heads, s.attention_dropout)
    if s.name == "sgc":
        return SGC(in_channels, out_channels, s.dropout)
    plain = {"gcn": GCN, "cheb": ChebNet, "sage": GraphSAGE}
    return plain[s.name](*ends, s.dropout)
