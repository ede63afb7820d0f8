"""What the steps share: finding their decomposition in the model, and PyMC's calling convention."""

from typing import ClassVar

import numpy as np
from pymc.model import Model, modelcontext
from pymc.step_methods.compound import BlockedStep, Competence, StepMethodState
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.basic import Variable
from rich.progress import TextColumn
from rich.table import Column

from pymc_bid.graph.decomposition import (
    Decomposition,
    decomposition_of,
    find_decompositions,
    models_of,
)
from pymc_bid.steps.interrupts import finish_before_interrupt


class DecompositionStep(BlockedStep):
    """A step that updates some variables of one interpolative decomposition.

    A subclass says which random variables it updates and when that is exact (`claimed`), and
    translates between PyMC's point and the kernels (`step`).

    Parameters
    ----------
    vars : random variable or list of random variables
    model : pymc.Model, optional
        Taken from the context if not given.
    rng : numpy.random.Generator, optional
    """

    _state_class = StepMethodState
    stats_dtypes_shapes: ClassVar[dict] = {}

    def __init__(self, vars, *, model=None, rng=None, **pymc_arguments):
        unknown = set(pymc_arguments) - {"blocked", "initial_point", "compile_kwargs"}
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(sorted(unknown))}.")
        model = modelcontext(model)
        asked = [model.values_to_rvs[value] for value in get_value_vars_from_user_vars(vars, model)]
        self.decomposition = decomposition_of(asked[0], model)
        claimed = self.claimed(self.decomposition, model)
        for variable in asked:
            if variable not in claimed:
                names = ", ".join(v.name for v in claimed)
                raise TypeError(
                    f"{type(self).__name__} can't update {variable.name}; in the decomposition of "
                    f"{self.decomposition.roles.likelihood.name} it updates {names}."
                )
        self.vars = [model.rvs_to_values[variable] for variable in claimed]
        self.tune = True
        self.rng = get_random_generator(rng)

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
                try:
                    if var in cls.claimed(decomposition, model):
                        return Competence.IDEAL
                except TypeError:
                    continue
        return Competence.INCOMPATIBLE

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = finish_before_interrupt(cls.step)
        cls.stats_dtypes_shapes = {
            f"bid_{name}": (dtype, []) for name, dtype in cls.statistics.items()
        }

    statistics: ClassVar[dict[str, type]] = {}
    """Names (less the prefix) and types of what the step reports in `sample_stats`."""

    shown: ClassVar[dict[str, tuple[str, str]]] = {}
    """Statistics that PyMC's progress bar shows for each chain: their headings and formats."""

    def report(self, **statistics) -> list[dict]:
        """Statistics in the form that PyMC records them."""
        return [{f"bid_{name}": value for name, value in statistics.items()}]

    @classmethod
    def _progressbar_config(cls, n_chains=1):
        columns = [
            TextColumn(f"{{task.fields[bid_{name}]:{form}}}", table_column=Column(heading, ratio=1))
            for name, (heading, form) in cls.shown.items()
        ]
        return columns, {f"bid_{name}": [0] * n_chains for name in cls.shown}

    @classmethod
    def _make_progressbar_update_functions(cls):
        def update(statistics):
            return {f"bid_{name}": statistics[f"bid_{name}"] for name in cls.shown}

        return (update,)


def active_columns(state: np.ndarray) -> np.ndarray:
    """Return the chosen columns J, ascending."""
    return np.flatnonzero(state == 1)
