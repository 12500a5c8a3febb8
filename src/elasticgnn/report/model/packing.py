"""Nodes and edges as one packed text for the page: arrays behind a JSON head, gzip, base64."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.report.model.findings import ModelFindings
from elasticgnn.report.model.layout import layout
from elasticgnn.report.model.number_findings import NumberFindings
from elasticgnn.training.model.roles import HELD_OUT, TRAINED

WHOLE_NODES, WHOLE_EDGES = 20_000, 60_000  # up to here the page draws the whole graph
TOP = 5  # classes whose probability is kept of each node
FULL = 65535  # 1.0 as a 16-bit number
ROLES = ("unknown", TRAINED, HELD_OUT)
Array = NDArray[Any]


def packed(findings: ModelFindings | NumberFindings) -> str:
    """Base64 of gzip of: length of the head (4 bytes), head in JSON, arrays, each padded to 4."""
    arrays = node_arrays(findings) | edge_arrays(findings)
    if is_drawn_whole(findings):
        arrays["place"] = shares(layout(findings.task.graph))
    head = {
        "ids": numbered(findings.ids),
        "arrays": [[name, part.dtype.name, part.size] for name, part in arrays.items()],
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % 4)
    body = b"".join(part.tobytes() + bytes(-part.nbytes % 4) for part in arrays.values())
    whole = struct.pack("<I", len(text)) + text + body
    return base64.b64encode(gzip.compress(whole, 6, mtime=0)).decode()


def is_drawn_whole(findings: ModelFindings | NumberFindings) -> bool:
    """Whether the graph is small enough to be drawn as a whole."""
    graph = findings.task.graph
    return graph.num_nodes <= WHOLE_NODES and graph.num_edges <= WHOLE_EDGES


def numbered(ids: list[str]) -> list[str] | None:
    """The names; None where they are 0, 1, 2, …"""
    return None if all(name == str(k) for k, name in enumerate(ids)) else ids


def node_arrays(findings: ModelFindings | NumberFindings) -> dict[str, Array]:
    """Known class + 1, role, moved, and the TOP classes with their probabilities, best first; or
    numbers."""
    if isinstance(findings, NumberFindings):
        return {**findings.node_arrays(), "role": role_codes(findings)}
    probability = findings.prediction.probability.numpy()
    best = np.argsort(-probability, axis=1, kind="stable")[:, :TOP]
    return {
        "known": (findings.task.labels.numpy() + 1).astype(np.uint16),
        "role": role_codes(findings),
        "moved": shares(findings.prediction.moved.numpy()),
        "top": best.astype(np.uint16).ravel(),
        "chance": shares(np.take_along_axis(probability, best, 1)),
    }


def role_codes(findings: ModelFindings | NumberFindings) -> Array:
    """The role of each node by its place in ROLES; empty where it is not known."""
    code = {name: number for number, name in enumerate(ROLES)}
    return np.array([code[name] for name in findings.roles or []], dtype=np.uint8)


def edge_arrays(findings: ModelFindings | NumberFindings) -> dict[str, Array]:
    """Both ends of every edge, and its suspicion in 0..1."""
    graph = findings.task.graph
    return {
        "tail": graph.tail.numpy().astype(np.uint32),
        "head": graph.head.numpy().astype(np.uint32),
        "score": shares(findings.edges.score.numpy()),
    }


def shares(values: Array) -> Array:
    """Numbers in 0..1 in 16 bits."""
    return np.round(np.clip(values, 0, 1) * FULL).astype(np.uint16).ravel()
