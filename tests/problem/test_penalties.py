"""Every penalty of the registry has all its parts, and each part is what it is said to be."""

import ast
import inspect
from pathlib import Path

import pytest
import torch

import elasticgnn
from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.nn import EMP, ModelSettings
from elasticgnn.operator import explain_route
from elasticgnn.problem import PENALTIES
from elasticgnn.problem.penalties.base import EdgePenalty, share_inside
from elasticgnn.problem.penalties.registry import CONVEX_NORMS, FORMS, penalty_by_name
from marks import needs_kernels
from own_penalties import CertifiedHuber, Huber
from strategies import normal_rows, random_graph

PACKAGE = Path(elasticgnn.__file__).parent
LAMBDA1, BETA = 0.8, 1.5
NAMES = list(PENALTIES)
ALL = [*(penalty_by_name(name) for name in NAMES), Huber(), CertifiedHuber()]
CONVEX = [*(penalty_by_name(name) for name in CONVEX_NORMS), CertifiedHuber()]

every = pytest.mark.parametrize("penalty", ALL, ids=lambda penalty: penalty.name)
registered = pytest.mark.parametrize("penalty", ALL[: len(NAMES)], ids=NAMES)
of_lengths = pytest.mark.parametrize("penalty", [p for p in ALL[: len(NAMES)] if not p.entrywise])


def rows(seed=0, count=400, width=3):
    """Rows of many lengths, from inside every ball to beyond every edge."""
    scale = torch.linspace(0.01, 6, count, dtype=torch.float64)[:, None]
    return scale * torch.nn.functional.normalize(normal_rows(count, width, seed=seed), dim=1)


@every
def test_value_is_zero_at_zero_even_and_grows(penalty):
    value = penalty.value(rows(), LAMBDA1)
    assert float(penalty.value(torch.zeros(1, 3, dtype=torch.float64), LAMBDA1)) == 0
    assert float(value.min()) > 0
    torch.testing.assert_close(value, penalty.value(-rows(), LAMBDA1))
    along = torch.linspace(0, 6, 500, dtype=torch.float64)[:, None] * rows()[-1]
    assert float(penalty.value(along, LAMBDA1).diff().min()) >= -1e-12


@every
def test_no_grid_point_is_better_than_the_proximal_one(penalty):
    grid = torch.linspace(-8, 8, 4001, dtype=torch.float64)[:, None]
    points = torch.linspace(-4, 4, 41, dtype=torch.float64)[:, None]
    best = penalty.prox(points, LAMBDA1, 1 / BETA)
    worth = penalty.value(best, LAMBDA1) + BETA / 2 * (best - points).square()[:, 0]
    others = penalty.value(grid, LAMBDA1)[:, None] + BETA / 2 * (grid - points.T).square()
    assert float((worth - others.min(0).values).max()) <= 1e-9


@every
def test_projection_is_what_moreau_makes_of_the_proximal_map(penalty):
    expected = EdgePenalty.project(penalty, rows(), LAMBDA1, BETA)
    torch.testing.assert_close(penalty.project(rows(), LAMBDA1, BETA), expected)


@every
def test_jacobian_of_the_projection_agrees_with_finite_differences(penalty):
    some = rows(count=12)[1:].requires_grad_()
    strengths = [torch.tensor([[s]], dtype=torch.float64).requires_grad_() for s in (LAMBDA1, BETA)]
    assert torch.autograd.gradcheck(penalty.project, (some, *strengths))
    assert torch.autograd.gradgradcheck(penalty.project, (some, *strengths))


@pytest.mark.parametrize("penalty", CONVEX, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("lambda2", [0.0, 0.7])
def test_conjugate_is_the_least_bound_of_fenchel_and_young(penalty, lambda2):
    """<d, w> <= rho(d) + lambda2/2 |d|^2 + conjugate(w), with equality at the proximal point."""
    dual = rows(1, 60) if lambda2 else penalty.project(rows(1, 60), LAMBDA1, BETA)
    conjugate = penalty.folded_conjugate(dual, LAMBDA1, lambda2)
    differences = rows(2, 200)
    cost = penalty.value(differences, LAMBDA1) + lambda2 / 2 * differences.square().sum(-1)
    assert float((differences @ dual.T - cost[:, None] - conjugate).max()) <= 1e-9
    if lambda2:
        best = penalty.prox(dual / lambda2, LAMBDA1, 1 / lambda2)
        least = (best * dual).sum(-1) - penalty.value(best, LAMBDA1)
        torch.testing.assert_close(conjugate, least - lambda2 / 2 * best.square().sum(-1))
    assert torch.isinf(penalty.conjugate(100 * rows(1, 9), LAMBDA1)).any()


@registered
def test_dual_rows_stay_in_the_ball_that_lambda1_gives(penalty):
    inside = penalty.project(rows(), LAMBDA1, BETA)
    assert float(penalty.dual_norm(inside).max()) <= LAMBDA1 * (1 + 1e-12)
    ball = penalty.into_domain(10 * rows(), LAMBDA1)
    assert float(penalty.majoriser.dual_norm(ball).max()) == pytest.approx(LAMBDA1)


@registered
def test_majoriser_lies_above_and_touches(penalty):
    at, other = rows(3, 300), rows(4, 300)
    strength = penalty.tangent(at, LAMBDA1)[:, 0]
    tangent = penalty.majoriser.value
    above = penalty.value(at, LAMBDA1) - tangent(at, strength) + tangent(other, strength)
    assert float((penalty.value(other, LAMBDA1) - above).max()) <= 1e-12
    step = 1e-6 * at
    slope = penalty.value(at + step, LAMBDA1) - penalty.value(at - step, LAMBDA1)
    expected = tangent(at + step, strength) - tangent(at - step, strength)
    torch.testing.assert_close(slope, expected, atol=1e-9, rtol=1e-4)


@every
def test_curvature_is_the_least_that_makes_it_convex(penalty):
    length = torch.linspace(1e-3, 6, 6001, dtype=torch.float64)[:, None]
    value = penalty.value(length, LAMBDA1)
    convex = value + penalty.curvature / 2 * length.square()[:, 0]
    assert float(convex.diff().diff().min()) >= -1e-12
    if penalty.curvature:
        less = value + 0.9 * penalty.curvature / 2 * length.square()[:, 0]
        assert float(less.diff().diff().min()) < -1e-9
    assert penalty.refusal(1.01 * penalty.curvature + 1e-9) is None
    assert penalty.refusal(0.99 * penalty.curvature) is not None or penalty.is_convex
    assert penalty.refusal(penalty.curvature) is not None  # the proximal problem is not strict


@pytest.mark.parametrize("name", [name for name in NAMES if PENALTIES[name].default_concavity])
def test_a_concavity_that_is_not_above_the_offset_suits_no_step(name):
    penalty = PENALTIES[name]
    assert penalty(penalty.offset).curvature == torch.inf
    assert penalty(penalty.offset).refusal(1e9) is not None


@pytest.mark.parametrize("name", [name for name in NAMES if PENALTIES[name].default_concavity])
def test_concavity_at_prediction_is_little_above_the_least_at_lambda2_zero(name):
    graph, x = random_graph(8, 12), normal_rows(8, 2)
    concavity = PENALTIES[name].at_prediction
    elastic_message_passing(x, graph, ElasticPenalty(3.0, 0.0, name, concavity), 1)
    with pytest.raises(ValueError, match="concavity must be >"):
        elastic_message_passing(x, graph, ElasticPenalty(3.0, 0.0, name, concavity - 0.5), 1)


@every
def test_rows_are_the_last_dimension(penalty):
    """Many graphs or runs at once: the leading dimensions are only carried along."""
    one = rows(5, 12)
    many = one.reshape(2, 6, 3)
    torch.testing.assert_close(
        penalty.value(many, LAMBDA1).reshape(-1), penalty.value(one, LAMBDA1)
    )
    torch.testing.assert_close(penalty.dual_norm(many).reshape(-1), penalty.dual_norm(one))
    expected = penalty.project(one, LAMBDA1, BETA)
    torch.testing.assert_close(penalty.project(many, LAMBDA1, BETA).reshape(-1, 3), expected)


@of_lengths
def test_line_says_what_the_projection_does_outside_the_ball(penalty):
    length = rows().norm(dim=1)
    start, slope, *_ = penalty.line(BETA)
    expected = (start * LAMBDA1 - slope * length).clamp(0, LAMBDA1)
    found = penalty.project(rows(), LAMBDA1, BETA).norm(dim=1)
    torch.testing.assert_close(found, torch.where(length > LAMBDA1, expected, length))


@registered
def test_derivatives_of_the_line_agree_with_finite_differences(penalty):
    before, after = penalty.line(BETA - 1e-6), penalty.line(BETA + 1e-6)
    _, _, start_beta, slope_beta = penalty.line(BETA)
    assert (after.start - before.start) / 2e-6 == pytest.approx(start_beta, rel=1e-6, abs=1e-9)
    assert (after.slope - before.slope) / 2e-6 == pytest.approx(slope_beta, rel=1e-6, abs=1e-9)


def gradients(name, x, graph, implementation):
    """Of x, lambda1 and lambda2."""
    inputs = [x.clone(), *(torch.tensor(s, dtype=torch.float64) for s in (0.3, 1.5))]
    inputs = [value.requires_grad_() for value in inputs]
    concavity = None if PENALTIES[name].default_concavity is None else 9.0
    out = elastic_message_passing(
        inputs[0],
        graph,
        ElasticPenalty(inputs[1], inputs[2], name, concavity),
        6,
        implementation=implementation,
    )
    return out.detach(), *torch.autograd.grad(out.square().sum(), inputs)


@needs_kernels
@pytest.mark.parametrize("name", NAMES)
def test_compiled_loops_compute_the_penalty_and_its_jacobian(name):
    graph, x = random_graph(20, 45, weighted=True), 2 * normal_rows(20, 3)
    plain = gradients(name, x, graph, "reference")
    torch.testing.assert_close(gradients(name, x, graph, "fused"), plain, rtol=1e-9, atol=1e-10)
    taken = explain_route(x, graph, ElasticPenalty(0.3, 1.5, name), 6).taken
    assert taken != "plain"


@pytest.mark.parametrize("name", NAMES)
def test_every_penalty_has_its_name_words_and_entrances(name, capsys):
    from elasticgnn.experiment.setting import Setting

    penalty = PENALTIES[name]
    assert penalty.name == name
    assert penalty.form in FORMS
    assert (penalty.at_prediction is None) == (penalty.default_concavity is None)
    assert penalty().is_convex if penalty.default_concavity is None else True
    assert EMP(norm=name).penalty.edge_penalty == penalty_by_name(name)
    assert Setting(norm=name).norm == name
    assert ModelSettings(norm=name).norm == name
    with pytest.raises(SystemExit):
        run_command("train", "--norm", "list")
    assert f"{name:5} {penalty.words}" in capsys.readouterr().out
    assert len(penalty.words) > 20
    assert f'"{name}"' in ElasticPenalty.__doc__
    assert f'"{name}"' in (PACKAGE.parents[1] / "docs" / "math.md").read_text()


def run_command(*words):
    from elasticgnn.cli.__main__ import build_app

    build_app()(list(words))


def test_a_module_of_the_folder_that_is_not_registered_is_noticed():
    folder = Path(inspect.getfile(EdgePenalty)).parent
    shared = {"__init__", "base", "fading", "registry"}
    assert {path.stem for path in folder.glob("*.py")} - shared == set(NAMES)


RIVALS = {  # RUNG's own
    "defence/rung.py",
    "operator/flipped_defences.py",
    "robustness/contestant.py",
    "robustness/routes.py",
}


def lists_of_penalties(tree):
    """Lines with a collection of several names, or a comparison with one."""
    for node in ast.walk(tree):
        parts = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        names = [part.value for part in parts if isinstance(part, ast.Constant)]
        known = [name for name in names if name in NAMES]
        if len(known) > 1 or (known and isinstance(node, ast.Compare)):
            yield node.lineno


def test_no_list_of_penalties_stands_beside_the_registry():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if str(path.relative_to(PACKAGE)) not in RIVALS and "penalties" not in path.parts
        for line in lists_of_penalties(ast.parse(path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize("as_strength", [float, torch.tensor])
def test_nothing_is_kept_inside_a_ball_without_radius(as_strength):
    dual = torch.zeros(2, 3)
    assert share_inside(dual, as_strength(0.0)) == 0
    assert share_inside(dual, as_strength(0.5)) == 1
