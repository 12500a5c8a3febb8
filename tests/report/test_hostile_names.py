"""Names in studies and signals that LaTeX, Markdown or a picture would take for something else."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticgnn import Graph
from elasticgnn.data.signal_files import SignalFile
from elasticgnn.data.signal_plot import plot_signal
from elasticgnn.experiment import load_spec
from elasticgnn.experiment.storage import claim_lock
from elasticgnn.report import build_table
from elasticgnn.report.render import latex_text, markdown_lines, to_markdown
from elasticgnn.robustness.outcome import Outcome
from elasticgnn.robustness.plot import plot_robustness


def test_a_name_is_no_command_of_latex():
    assert latex_text("\\input{x}") == r"\textbackslash{}input\{x\}"
    assert latex_text("a_b & c #1 $x^2$") == r"a\_b \& c \#1 \$x\textasciicircum{}2\$"
    assert latex_text("81.5 ± 0.4 %\n\\end") == r"81.5 $\pm$ 0.4 \% \textbackslash{}end"


def test_a_name_is_no_column_line_or_element_of_markdown():
    lines = markdown_lines([["model", "x"], ["a|b\n| c", "<script>"]])
    assert lines == "| model | x |\n|---|---|\n| a&#124;b &#124; c | &#60;script> |"


def test_a_title_is_no_line_link_or_element_of_markdown(results):
    spec = load_spec("table3")
    notes = ("a ![picture](http://x)", "b\n\n<img src=x>")
    hostile = replace(spec, title="t\n\n# other\x1b[2J", notes=notes)
    text = to_markdown(build_table(hostile, results))
    assert text.startswith("## table3: t # other\\x1b[2J\n")
    assert text.endswith("* a ![picture&#93;(http://x)\n* b &#60;img src=x>\n")


def test_a_name_is_no_formula_of_a_picture(tmp_path):
    graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 2]]), 3, undirected=True)
    signal = SignalFile(np.zeros((3, 1)), ("$\\frac{$",), None, None, None)
    plot_signal(tmp_path / "s.svg", signal, np.ones((3, 1)), graph)
    outcomes = [Outcome("$\\a{$", "$\\b{$", "worst", 0.1, (0.5,))]
    plot_robustness(outcomes, tmp_path / "r.svg", "$\\c{$")
    assert (tmp_path / "r.svg").stat().st_size > 1000


FULL_DISK = """
import resource, signal
from pathlib import Path
from elasticgnn.robustness.outcome import Outcome
from elasticgnn.robustness.plot import plot_robustness
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
"""


def on_full_disk(folder, code):
    """What the last line of an error says where no file may grow beyond 300 bytes."""
    words = [sys.executable, "-c", FULL_DISK + code]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1]


def test_a_picture_of_robustness_is_whole_or_the_old_one(tmp_path):
    (tmp_path / "r.svg").write_text("the old file")
    drawn = "plot_robustness([Outcome('gcn', 'eva', 'worst', 0.1, (0.5,))], Path('r.svg'))"
    assert "File too large: 'r.svg'" in on_full_disk(tmp_path, drawn)
    assert (tmp_path / "r.svg").read_text() == "the old file"


def test_the_lock_of_a_storage_is_no_link_to_another_file(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "trials.db.lock").symlink_to(tmp_path / "mine")
    address = f"sqlite:///{tmp_path}/trials.db"
    with pytest.raises(OSError, match="symbolic links"), claim_lock(address):
        pass
    assert (tmp_path / "mine").read_text() == "mine"
    (tmp_path / "trials.db.lock").unlink()
    with claim_lock(address):
        assert (tmp_path / "trials.db.lock").read_bytes() == b""
