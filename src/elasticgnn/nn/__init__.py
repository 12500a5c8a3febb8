"""Layers and networks."""

from elasticgnn.nn.appnp import APPNP as APPNP
from elasticgnn.nn.build import build_model as build_model
from elasticgnn.nn.cheb import ChebNet as ChebNet
from elasticgnn.nn.elastic import ElasticGNN as ElasticGNN
from elasticgnn.nn.elastic_block import ElasticBlock as ElasticBlock
from elasticgnn.nn.elastic_block import ElasticStack as ElasticStack
from elasticgnn.nn.emp import EMP as EMP
from elasticgnn.nn.feature_linear import FeatureLinear as FeatureLinear
from elasticgnn.nn.gat import GAT as GAT
from elasticgnn.nn.gcn import GCN as GCN
from elasticgnn.nn.mlp import MLP as MLP
from elasticgnn.nn.sage import GraphSAGE as GraphSAGE
from elasticgnn.nn.settings import MODEL_NAMES as MODEL_NAMES
from elasticgnn.nn.settings import ModelSettings as ModelSettings
from elasticgnn.nn.sgc import SGC as SGC
from elasticgnn.nn.smoothed import Smoothed as Smoothed
