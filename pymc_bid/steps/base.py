"""What the steps share: finding their decomposition in the model, and PyMC's calling convention."""

import warnings
from abc import ABCMeta
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from pymc.model import Model, modelcontext
from pymc.step_methods.compound import (
    BlockedStep,
    Competence,
    CompoundStep,
    StepMethodState,
)
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.basic import Variable
from pytensor.tensor.random.basic import BernoulliRV
from rich.console import Console
from rich.progress import TextColumn
from rich.table import Column

from pymc_bid.graph.decomposition import (
    Decomposition,
    decomposition_of,
    find_decompositions,
    models_of,
)
from pymc_bid.graph.values import Point
from pymc_bid.steps.interrupts import finish_before_interrupt
from pymc_bid.steps.rehearsal import rehearse
from pymc_bid.steps.starting_point import check_draws, check_starting_point, check_state

_CONSTANT = "invalid value encountered in scalar divide"


class _Rehearsed(ABCMeta):
    """Has a step rehearsed once it is made: in the process that starts chains, not in theirs.

    There steps come from a pickle, or are there already.
    """

    def __call__(cls, *args, **kwargs):
        step = super().__call__(*args, **kwargs)
        # Where several were made, each was rehearsed by itself.
        if isinstance(step, cls):
            rehearse(step, modelcontext(kwargs.get("model")), kwargs.get("initial_point"))
        return step


class DecompositionStep(BlockedStep, metaclass=_Rehearsed):
    """A step that updates some variables of one interpolative decomposition.

    A subclass says which random variables it updates and when that is exact (`claimed`), and
    translates between PyMC's point and the kernels (`update`).

    Parameters
    ----------
    vars : random variable or list of random variables
    model : pymc.Model, optional
        Taken from the context if not given.
    rng : numpy.random.Generator, optional
    """

    _state_class = StepMethodState
    _recorded: ClassVar[dict[str, str]] = {}
    stats_dtypes_shapes: ClassVar[dict] = {}

    def __new__(cls, *args, **kwargs):
        """Make a step, or one for each decomposition if there are several.

        PyMC hands all variables that a step method is for to one step.
        """
        vars = kwargs["vars"] if "vars" in kwargs else args[0] if args else []
        if not isinstance(vars, list | tuple) or len(vars) < 2:
            return super().__new__(cls, *args, **kwargs)
        groups = cls._apart(list(vars), modelcontext(kwargs.get("model")))
        if len(groups) < 2:
            return super().__new__(cls, *args, **kwargs)
        options = {name: value for name, value in kwargs.items() if name not in ("vars", "rng")}
        rngs = get_random_generator(kwargs.get("rng")).spawn(len(groups))
        return CompoundStep(
            [
                cls(group, *args[1:], **options, rng=rng)
                for group, rng in zip(groups, rngs, strict=True)
            ]
        )

    @classmethod
    def _apart(cls, vars: list[Variable], model: Model) -> list[list[Variable]]:
        """Tell the variables of different steps from each other; all one if that is an error."""
        values = get_value_vars_from_user_vars(vars, model)
        groups: dict[tuple, list[Variable]] = {}
        for given, value in zip(vars, values, strict=True):
            variable = model.values_to_rvs[value]
            try:
                claimed = tuple(cls.claimed(decomposition_of(variable, model), model))
            except TypeError:
                return [vars]
            if variable not in claimed:
                return [vars]
            groups.setdefault(claimed, []).append(given)
        return list(groups.values())

    def __init__(self, vars, *, model=None, rng=None, **pymc_arguments):
        unknown = set(pymc_arguments) - {"blocked", "initial_point", "compile_kwargs"}
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(sorted(unknown))}.")
        model = modelcontext(model)
        asked = [model.values_to_rvs[value] for value in get_value_vars_from_user_vars(vars, model)]
        try:
            self.decomposition = decomposition_of(asked[0], model)
            claimed = self.claimed(self.decomposition, model)
        except TypeError as error:
            raise TypeError(f"{error} {_instead(asked[0])}") from error
        for variable in asked:
            if variable not in claimed:
                names = ", ".join(v.name for v in claimed)
                raise TypeError(
                    f"{type(self).__name__} can't update {variable.name}; in the decomposition of "
                    f"{self.decomposition.roles.likelihood.name} it updates {names}."
                )
        # PyMC has ArviZ divide 0 by 0 for every entry of a state vector that does not move.
        warnings.filterwarnings(
            "ignore", _CONSTANT, RuntimeWarning, r"arviz(_stats\.base|\.stats)\.diagnostics"
        )
        self.vars = [model.rvs_to_values[variable] for variable in claimed]
        self.tune = True
        self.rng = get_random_generator(rng)
        self._checked: tuple = (None, None, None)

    @classmethod
    def claimed(cls, decomposition: Decomposition, model: Model) -> list[Variable]:
        """Random variables of a decomposition that this step updates.

        Raises
        ------
        TypeError
            If the update would not be exact in this model.
        """
        raise NotImplementedError

    @classmethod
    def competence(cls, var, has_grad=False):
        """Claim the variables that are recognised in the model at hand, and no others."""
        for model in models_of(var):
            for decomposition in find_decompositions(model):
                if not decomposition.roles.binary:
                    # PyMC can sample what would be an error here, other values than 0 and 1.
                    continue
                try:
                    if var in cls.claimed(decomposition, model):
                        return Competence.IDEAL
                except TypeError:
                    continue
        return Competence.INCOMPATIBLE

    @finish_before_interrupt
    def step(self, point):
        """Return a new point and what is to be recorded of it, as PyMC asks for."""
        # Once, not wherever data are read: a `pm.Data` container may have been given new ones.
        joint = self.decomposition.joint
        joint.refresh()
        if not self._is_checked(point):
            self.check_start(point)
        check_state(joint, point)
        after, statistics = self.update(point)
        check_draws(type(self).__name__, point, after)
        return after, statistics

    def _is_checked(self, point: Point) -> bool:
        """Whether one like this was checked before; from now on it counts as such.

        Each chain has a generator of its own; data and other steps may change what fits.
        """
        before, products = self._checked, self.decomposition.joint.products()
        self._checked = self.rng, products, [value.shape for value in point.values()]
        return before[0] is self.rng and before[1] is products and before[2] == self._checked[2]

    def check_start(self, point: Point) -> None:
        """Refuse a point that a chain can't start from."""
        check_starting_point(self.decomposition.joint, point)

    def halves_to_compile(self, model: Model, point: Point) -> tuple[Callable, Callable] | None:
        """Return two functions that each call about half of what there is to compile, or None."""
        return None

    def update(self, point: Point) -> tuple[Point, list[dict]]:
        """Update the variables of this step."""
        raise NotImplementedError

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._recorded = {name: f"bid_{name}" for name in cls.statistics}
        cls.stats_dtypes_shapes = {
            cls._recorded[name]: (dtype, []) for name, dtype in cls.statistics.items()
        }

    statistics: ClassVar[dict[str, type]] = {}
    """Names (less the prefix) and types of what the step reports in `sample_stats`."""

    shown: ClassVar[dict[str, tuple[str, str, int]]] = {}
    """Statistics that PyMC's progress bar shows for each chain: their headings and formats, and how
    many characters wide a terminal has to be for them."""

    def report(self, **statistics) -> list[dict]:
        """Statistics in the form that PyMC records them."""
        return [{self._recorded[name]: value for name, value in statistics.items()}]

    @classmethod
    def _progressbar_config(cls, n_chains=1):
        columns = [
            TextColumn(f"{{task.fields[bid_{name}]:{form}}}", table_column=Column(heading))
            for name, (heading, form, room) in cls.shown.items()
            # PyMC's own columns are cut where there is no room.
            if Console().width >= room
        ]
        return columns, {f"bid_{name}": [0] * n_chains for name in cls.shown}

    @classmethod
    def _make_progressbar_update_functions(cls):
        def update(statistics):
            return {f"bid_{name}": statistics[f"bid_{name}"] for name in cls.shown}

        return (update,)


def _instead(variable: Variable) -> str:
    """Say which of PyMC's samplers serves a variable."""
    if isinstance(variable.owner.op, BernoulliRV):
        sampler = "BinaryGibbsMetropolis"
    else:
        sampler = "NUTS" if np.dtype(variable.dtype).kind == "f" else "Metropolis"
    return (
        f"PyMC's own sampler for {variable.name} is pm.{sampler}; pm.sample() takes it where no "
        "step of this package is passed by `step=`."
    )
