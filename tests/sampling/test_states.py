"""A sampler that is given the state that another wrote goes on with that one's draws."""

from dataclasses import field
from io import BytesIO

import numpy as np
import pymc as pm
import pytest
from pymc.step_methods.compound import BlockedStep, CompoundStep, StepMethodState
from pymc.step_methods.state import dataclass_state

import pymc_bid as bid
from pymc_bid.sampling.states import read_state, restore, write_state
from tests.helpers.cases import handwritten, small_data
from tests.helpers.chains import found_steps

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(0)
TABLE, WIDE = RNG.normal(size=(20, 5)), RNG.normal(size=(20, 17))
HOLES = np.where(RNG.random(TABLE.shape) < 0.1, np.nan, TABLE)


def two_decompositions():
    with pm.Model() as model:
        with pm.Model(name="first"):
            bid.gbt(TABLE, identity=True)
        with pm.Model(name="second"):
            bid.gbtn(TABLE[:, ::-1])
    return model


def sampled_noise():
    """A scale that is sampled too: the closed form is only like the model."""
    with pm.Model() as model:
        r = pm.Bernoulli("r", 0.5, shape=5)
        Y = pm.TruncatedNormal("Y", 0, 1, lower=-1, upper=1, shape=(5, 5))
        pm.Normal("A", (TABLE * r) @ Y, pm.HalfNormal("scale"), observed=TABLE)
    return model


MODELS = {
    "identity": lambda: bid.gbt(TABLE, identity=True),
    "hierarchical, fixed size": lambda: bid.gbtn(TABLE, k=2),
    "missing entries": lambda: bid.gbt(HOLES, missing="mask"),
    "noise for each column": lambda: bid.gbt(TABLE, identity=True, noise="column"),
    "noise given": lambda: bid.gbt(WIDE, identity=True),
    "by hand, with transforms": lambda: handwritten(*small_data(), hierarchical=True),
    "two decompositions": two_decompositions,
}


def go_on(step, point, iterations, stops_at=None):
    points = []
    for iteration in range(iterations):
        if iteration == stops_at:
            step.stop_tuning()
        point, _ = step.step(point)
        points.append(point)
    return points


def assert_goes_on(make, make_step, place):
    """Write the state after `place` iterations, read it into another step, and run both."""
    model = make()
    step = make_step(model)
    stops_at = 40 if place > 40 else None
    point = go_on(step, model.initial_point(random_seed=3), place, stops_at)[-1]
    file = BytesIO()
    write_state(file, {"states": step.sampling_state, "point": point})
    # A model of its own: another process has nothing of the first.
    other = make_step(make())
    file.seek(0)
    read = read_state(file, {"states": other.sampling_state})
    restore(other, read["states"])
    points = zip(go_on(step, point, 30, 10), go_on(other, read["point"], 30, 10), strict=True)
    for one, same in points:
        assert list(one) == list(same)
        for name in one:
            np.testing.assert_array_equal(one[name], same[name], name, strict=True)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("place", [30, 60], ids=["while tuning", "afterwards"])
def test_another_sampler_goes_on_with_the_same_draws(make, place):
    assert_goes_on(make, lambda model: CompoundStep(found_steps(model)), place)


@pytest.mark.parametrize("kind", [pm.Slice, pytest.param(pm.NUTS, marks=pytest.mark.slow)])
def test_a_sampler_of_pymc_beside_goes_on_too(kind):
    def make_step(model):
        with model:
            beside = kind([model["scale"]], rng=5)
        return CompoundStep(found_steps(model, beside=[beside]))

    assert_goes_on(sampled_noise, make_step, 60)


@dataclass_state
class StateOfSet(StepMethodState):
    seen: set = field(default_factory=set)


class StepWithSet(BlockedStep):
    _state_class = StateOfSet
    name = "step_with_set"
    seen = frozenset({1})

    def __init__(self, vars, *, model, rng=None, **options):
        self.vars, self.rng = [model.rvs_to_values[vars[0]]], np.random.default_rng(rng)

    def step(self, point):
        return point, [{}]


def test_a_state_of_anything_else_is_refused_before_the_first_draw(tmp_path):
    model = sampled_noise()
    with pytest.raises(TypeError, match=r"frozenset\(\{1\}\) of type frozenset is no number"):
        bid.sample(model, tmp_path, step=StepWithSet([model["scale"]], model=model))
    assert list(tmp_path.iterdir()) == []


def test_reading_makes_no_objects_but_those_of_the_samplers():
    file = BytesIO()
    np.savez(file, tree=np.array([{"not": "data"}], dtype=object))
    file.seek(0)
    with pytest.raises(ValueError, match="allow_pickle"):
        read_state(file, {})
