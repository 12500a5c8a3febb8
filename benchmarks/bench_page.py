"""How long the page about a model takes to write and to open, on a large invented graph.

Run: python benchmarks/bench_page.py [--nodes 560000] [--edges 820000] [--openings 3]
Needs Chromium and playwright. Opening is measured from the navigation until the graph can be
clicked, in a browser without network and without a graphics card. Record: results/page.json.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from playwright.sync_api import sync_playwright

from elasticgnn.data import NodeTask
from elasticgnn.graph import Graph
from elasticgnn.nn import ModelSettings
from elasticgnn.report.model import find, write_model_page
from elasticgnn.training import make_model, trained_on

RECORD = Path(__file__).parent / "results" / "page.json"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def invented(nodes: int, edges: int) -> NodeTask:
    """Sparse random edges between nodes with ids of text; half of the classes are known."""
    rng = np.random.default_rng(0)
    ends = torch.from_numpy(rng.integers(0, nodes, (2, edges)))
    graph = Graph.from_edge_index(ends, nodes, undirected=True)
    features = torch.from_numpy(rng.normal(size=(nodes, 8))).float()
    labels = torch.from_numpy(np.where(rng.random(nodes) < 0.5, rng.integers(0, 2, nodes), -1))
    ids = tuple(f"account-{number:07d}" for number in rng.permutation(nodes))
    return NodeTask("invented", graph, features, labels, ("honest", "fraud"), ids)


def write(task: NodeTask, path: Path) -> float:
    """Seconds to ask an ElasticGNN about every node and edge and to write the page."""
    settings = ModelSettings(lambda1=1.0, lambda2=1.0)
    model = make_model(settings, task, torch.Generator().manual_seed(0))
    began = time.perf_counter()
    write_model_page(find(trained_on(task, model, settings), task), path)
    return time.perf_counter() - began


def opened(path: Path, times: int) -> list[dict[str, float]]:
    """Seconds of each opening: until the first content is painted, until all is there, and of
    processor time that the page's process took for it."""
    found = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for _ in range(times):
            page = browser.new_context(offline=True).new_page()
            tools = page.context.new_cdp_session(page)
            tools.send("Performance.enable")
            began = time.perf_counter()
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_selector("body[data-ready=yes]")
            ready = time.perf_counter() - began
            paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
            used = {m["name"]: m["value"] for m in tools.send("Performance.getMetrics")["metrics"]}
            painted = page.evaluate(paint) / 1000
            found.append({"ready": ready, "painted": painted, "processor": used["ProcessTime"]})
            page.context.close()
        browser.close()
    return found


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--nodes", type=int, default=560_000)
    words.add_argument("--edges", type=int, default=820_000)
    words.add_argument("--openings", type=int, default=3)
    asked = words.parse_args()
    task = invented(asked.nodes, asked.edges)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        seconds = write(task, path)
        openings = opened(path, asked.openings)
        record = {
            "nodes": task.num_nodes,
            "edges": task.graph.num_edges,
            "megabytes": round(path.stat().st_size / 1e6, 1),
            "seconds_to_write": round(seconds, 1),
            "load_average": round(os.getloadavg()[0], 1),
            "openings": [{k: round(v, 2) for k, v in one.items()} for one in openings],
        }
    print(json.dumps(record, indent=1))
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
