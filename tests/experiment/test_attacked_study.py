"""Studies on graphs that an attack file has changed: refused elsewhere, recorded, kept apart."""

import json
from dataclasses import replace

import pytest
import torch

from elasticgnn.attack import Perturbation
from elasticgnn.attack.shipped import shipped
from elasticgnn.cli.__main__ import main
from elasticgnn.experiment import cells, load_spec, read_result, run_study
from elasticgnn.experiment.flips import FlipFile, attacked_study, check_flips
from elasticgnn.experiment.tasks import toy_task
from elasticgnn.report import build_table
from elasticgnn.report.render import to_csv, to_markdown
from small_study import plan_in, small_study

TOY = toy_task(torch.Generator().manual_seed(7)).graph


def save_flips(path, fingerprint=TOY.fingerprint, count=20):
    """The first `count` pairs from node 0 on, flipped."""
    pairs = torch.triu_indices(60, 60, 1).T[:count]
    Perturbation(pairs, fingerprint, "random", 0, task="toy").save(path)
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """One study in one folder and one storage, as it is and attacked."""
    folder = tmp_path_factory.mktemp("both")
    path = save_flips(folder / "flips.json")
    spec = replace(small_study().restricted(models=("gcn", "l21")), axis="none")
    attacked = attacked_study(spec, FlipFile(path))
    plan = plan_in(folder)
    run_study(spec, plan)
    run_study(attacked, replace(plan, attack=path))
    return folder, spec, attacked


def test_attacked_results_are_kept_apart_and_differ(done):
    folder, spec, attacked = done
    for cell in cells(spec):
        plain, changed = (read_result(folder, each, cell) for each in (spec, attacked))
        assert plain.attack is None
        if cell.model == "gcn":  # the other may select lambda1 = 0, which uses no edge
            assert [run.curves for run in plain.runs] != [run.curves for run in changed.runs]


def test_every_result_names_file_graph_and_rate(done):
    folder, _, attacked = done
    for cell in cells(attacked):
        attack = read_result(folder, attacked, cell).attack
        assert (attack.file, attack.method, attack.flips) == ("flips.json", "random", 20)
        assert attack.fingerprint == TOY.fingerprint
        assert attack.rate == pytest.approx(20 / TOY.num_edges, abs=1e-6)


def test_tables_of_attacked_results_say_so_and_claim_nothing_of_the_paper(done):
    folder, spec, attacked = done
    plain, changed = (to_markdown(build_table(each, folder)) for each in (spec, attacked))
    assert "flips.json" in changed
    assert f"{2000 / TOY.num_edges:.1f} % of the edges" in changed
    assert "flips.json" not in plain
    assert {entry.verdict for entry in build_table(attacked, folder).entries} == {
        "not in the paper"
    }
    assert to_csv(build_table(attacked, folder)).splitlines()[0].endswith("attack_graph")


def test_without_an_attack_trials_keep_their_name():
    protocol = load_spec("table1").protocol
    assert protocol.fingerprint == replace(protocol, attack=None).fingerprint == "b737d3e6"
    assert protocol.fingerprint != replace(protocol, attack="abc").fingerprint


def test_along_an_axis_of_rates_the_level_is_the_share_flipped(tmp_path):
    flips = FlipFile(save_flips(tmp_path / "flips.json"))
    spec = attacked_study(replace(small_study(), levels=(0.0, 0.05)), flips)
    run_study(spec.restricted(models=("gcn",)), replace(plan_in(tmp_path), attack=flips.path))
    rates = [read_result(tmp_path, spec, c).attack.rate for c in cells(spec) if c.model == "gcn"]
    expected = int(0.05 * TOY.num_edges) / TOY.num_edges
    assert rates == pytest.approx([0.0, expected], abs=1e-6)
    with pytest.raises(ValueError, match="upto must be at most the 20 flips stored"):
        check_flips(replace(spec, levels=(0.0, 0.9)), flips, None)


def test_another_graph_and_another_file_are_refused(tmp_path):
    other = FlipFile(save_flips(tmp_path / "other.json", fingerprint="0" * 64))
    spec = attacked_study(small_study(), other)
    with pytest.raises(ValueError, match=r"other.json must be an attack on cora .* got one on toy"):
        check_flips(spec, other, None)
    with pytest.raises(ValueError, match="attack must be the study's file"):
        run_study(spec, replace(plan_in(tmp_path), attack=save_flips(tmp_path / "flips.json")))
    with pytest.raises(ValueError, match="attack must be the study's file"):
        run_study(spec, plan_in(tmp_path))


def test_shipped_flips_fit_the_studies_on_cora(tmp_path):
    flips = FlipFile(tmp_path / "cora.json")
    shipped().save(flips.path)
    for name in ("table1", "table2"):
        spec = load_spec(name).restricted(("cora",))
        check_flips(spec, flips, tmp_path)


def test_the_commands_run_show_and_export_an_attacked_study(tmp_path, capsys):
    flips = save_flips(tmp_path / "flips.json")
    shared = ["--quick", "--attack", str(flips), "--results", str(tmp_path / "results")]

    def study(*words):
        with pytest.raises(SystemExit) as stop:
            main(["study", *words])
        assert not stop.value.code
        return capsys.readouterr().out

    study("run", "table3", "--model", "elastic", *shared)
    rows = json.loads(study("table", "table3", *shared, "--json"))["cells"]
    assert [row["attack"] for row in rows if row["model"] == "elastic"] == ["flips.json"]
    plain = json.loads(study("table", "table3", *shared[:1], *shared[3:], "--json"))["cells"]
    assert {row["verdict"] for row in plain} == {"not run"}
    counts = json.loads(study("status", "table3", *shared, "--json"))["studies"][0]
    assert counts["cells_complete"] == 1
    study("export", "table3", *shared, "--output", str(tmp_path / "out"))
    assert (tmp_path / "out" / "flips.json").read_bytes() == flips.read_bytes()
