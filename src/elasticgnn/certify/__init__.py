"""Certificates by randomised smoothing: predictions that no few flips can change."""

from elasticgnn.certify.certificate import Certificate as Certificate
from elasticgnn.certify.certificate import certify as certify
from elasticgnn.certify.noise import SparseNoise as SparseNoise
from elasticgnn.certify.votes import count_votes as count_votes
