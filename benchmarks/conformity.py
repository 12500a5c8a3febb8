"""The same things asked of torch_geometric's APPNP and of EMP: worked, refused in words, or wrong.

    python benchmarks/conformity.py [--write docs/conformity.md]

A thing that works gives the right numbers, which every question checks itself: against the layer's
own answer to the plain question (x, edge_index), finite differences or a known answer.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from conformity_setting import QUESTIONS, setting
from torch import nn
from torch_geometric.nn import APPNP

from elasticgnn.nn import EMP

warnings.filterwarnings("ignore")
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "APPNP": lambda: APPNP(K=5, alpha=0.25),
    "EMP": lambda: EMP(K=5, lambda1=0.3, lambda2=3.0),
}
WORKED, REFUSED, WRONG = "worked", "refused", "wrong"
for _part in ("inputs", "transforms", "memory", "libraries"):  # the order of the page
    import_module(f"conformity_{_part}")


@dataclass(frozen=True)
class Answer:
    """How one layer met one question."""

    outcome: str
    words: str = ""


def ask(name: str, make: Callable[[], nn.Module]) -> Answer:
    """How a layer meets a question; an error is a refusal, whose first line is kept."""
    try:
        return Answer(WORKED if QUESTIONS[name](setting(make)) else WRONG)
    except Exception as error:  # whatever the layer says is its answer
        words = (str(error).strip().splitlines() or [""])[0]
        return Answer(REFUSED, f"{type(error).__name__}: {words}"[:110])


def ask_all() -> dict[str, dict[str, Answer]]:
    return {name: {layer: ask(name, make) for layer, make in LAYERS.items()} for name in QUESTIONS}


def page(answers: dict[str, dict[str, Answer]]) -> str:
    lines = [
        "# The same questions, asked of APPNP and of EMP",
        "",
        "Made by `python benchmarks/conformity.py --write docs/conformity.md`. *worked* means",
        "right numbers, which each question checks itself; *refused* is an error with its words;",
        "*wrong* is a wrong number without a word. Explainers are asked of",
        "`elasticgnn.nn.explain.explainable(EMP)`. TorchScript, which torch deprecates, is given",
        "the plain version; jit.script takes fixed strengths and the norms l21 and l1. Single",
        'directions are asked of `EMP(directed="symmetrize")`.',
        "",
        "| asked | APPNP | EMP | words of a refusal |",
        "| --- | --- | --- | --- |",
    ]
    for name, row in answers.items():
        words = "; ".join(
            f"{layer}: {answer.words}" for layer, answer in row.items() if answer.words
        ).replace("|", "\\|")
        lines.append(f"| {name} | {row['APPNP'].outcome} | {row['EMP'].outcome} | {words} |")
    counts = {
        layer: {
            outcome: sum(row[layer].outcome == outcome for row in answers.values())
            for outcome in (WORKED, REFUSED, WRONG)
        }
        for layer in LAYERS
    }
    lines += ["", *(f"{layer}: {counted(counts[layer])}." for layer in LAYERS), ""]
    return "\n".join(lines)


def counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="where the page goes")
    arguments = parser.parse_args()
    text = page(ask_all())
    if arguments.write:
        arguments.write.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
