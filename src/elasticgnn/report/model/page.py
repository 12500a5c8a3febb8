"""The page about one trained model: data, style, script and graph viewer inside one file."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elasticgnn.files import write_whole
from elasticgnn.graph import Graph
from elasticgnn.nn.settings import settings_in_use
from elasticgnn.report.model.evidence import evidence
from elasticgnn.report.model.findings import ModelFindings
from elasticgnn.report.model.number_findings import NOTE, NumberFindings, number_evidence
from elasticgnn.report.model.packing import ROLES, TOP, is_drawn_whole, packed
from elasticgnn.report.page import asset
from elasticgnn.training.model.file import PACKAGES
from elasticgnn.versions import package_versions

SCRIPTS = (
    "svg.js",
    "chart.js",
    "model/graph_data.js",
    "model/evidence.js",
    "model/numbers.js",
    "model/edges.js",
    "model/node.js",
    "model/drawing.js",
    "model/viewer.js",
    "model/start.js",
)
EDGES = 2000  # the most suspicious, in the table
MEASURES = ("score", "difference", "proposed", "disagreement", "saturation")


def write_model_page(findings: ModelFindings | NumberFindings, path: Path) -> None:
    """The page of `findings`, written whole."""
    write_whole(path, render_model_page(findings))


def render_model_page(findings: ModelFindings | NumberFindings) -> str:
    """The HTML text: facts as JSON, nodes and edges packed; nothing in them can be markup."""
    facts = json.dumps(plain(page_data(findings)), allow_nan=False, separators=(",", ":"))
    parts = {
        "STYLE": asset("style.css") + asset("model/model.css"),
        "DATA": facts.replace("<", "\\u003c"),
        "GRAPH": packed(findings),
        "VIEWER": asset("vendor/graph-viewer.min.js"),
        "SCRIPT": "\n".join(asset(name) for name in SCRIPTS),
    }
    place = r"/\*(STYLE|DATA|GRAPH|VIEWER|SCRIPT)\*/"
    # one pass: what looks like a place to fill in the data stays as it is
    return re.sub(place, lambda found: parts[found[1]], asset("model/model.html"))


def plain(value: Any) -> Any:
    """`value` with None for nan and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def page_data(findings: ModelFindings | NumberFindings) -> dict[str, Any]:
    """Everything but the nodes and edges themselves."""
    classes = findings.trained.class_names
    shared = {
        "about": {**about(findings), **counts(findings)},
        "classes": list(classes),
        "graph": {
            "nodes": findings.task.num_nodes,
            "edges": findings.task.graph.num_edges,
            "top": min(TOP, len(classes)),
            "whole": is_drawn_whole(findings),
            "roles": list(ROLES) if findings.roles else None,
        },
    }
    if isinstance(findings, NumberFindings):
        found, edges = number_evidence(findings), widest_edges(findings)
        return {**shared, "evidence": found, "edges": edges, "numbers": findings.span()}
    return {**shared, "evidence": evidence(findings), "edges": worst_edges(findings)}


def about(findings: ModelFindings | NumberFindings) -> dict[str, Any]:
    """What the model is, and what it was trained on and asked about."""
    trained, task = findings.trained, findings.task
    return {
        "model": trained.family,
        "settings": settings_in_use(trained.settings),
        "data": task.name,
        "trained_on": trained.data.get("name", "unknown data"),
        "fingerprint": trained.data.get("fingerprint", "")[:12],
        "features": trained.num_features,
        "made_features": trained.nodes is not None,
        "mean_moved": float(findings.prediction.moved.mean()) if task.num_nodes else 0.0,
        "notes": list(task.notes),
        "versions": json.loads(trained.facts.get("versions", "null")) or package_versions(PACKAGES),
    }


def counts(findings: ModelFindings | NumberFindings) -> dict[str, list[int]]:
    """How many nodes are known to be, and are predicted to be, of each class."""
    if isinstance(findings, NumberFindings):
        return {}
    task, classes = findings.task, len(findings.trained.class_names)
    known = torch.bincount(task.labels[task.labelled], minlength=task.num_classes)
    predicted = torch.bincount(findings.prediction.label, minlength=classes)
    return {"known": known.tolist(), "predicted": predicted.tolist()}


def worst_edges(findings: ModelFindings) -> dict[str, Any]:
    """The most suspicious edges: node numbers, measures, predicted classes."""
    scores = findings.edges
    measured = {name: getattr(scores, name) for name in MEASURES}
    return edge_rows(scores.graph, scores.order(), measured, findings.suspicion_notes)


def widest_edges(findings: NumberFindings) -> dict[str, Any]:
    """The edges whose ends have the most different numbers."""
    scores = findings.edges
    measured = {name: getattr(scores, name) for name in ("score", "difference", "proposed")}
    return edge_rows(scores.graph, scores.order(), measured, [NOTE])


def edge_rows(
    graph: Graph, order: Tensor, measured: dict[str, Tensor], notes: list[str]
) -> dict[str, Any]:
    """The first EDGES edges of `order` with what was measured of them."""
    order = order[:EDGES]
    columns = [graph.tail[order].tolist(), graph.head[order].tolist()]
    values = [value[order].tolist() for value in measured.values()]
    return {
        "measures": list(measured),
        "notes": notes,
        "rows": [
            [*ends, *(float(f"{x:.5g}") for x in each)]
            for *ends, each in zip(*columns, zip(*values, strict=True), strict=True)
        ],
    }
