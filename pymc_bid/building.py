"""The graph of the models that the constructors return."""

import warnings
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from pymc_bid.choosing import read_choice
from pymc_bid.distributions import GTNSNG, CompressedNormal, Interpolation, StateVector
from pymc_bid.first_look import look_at
from pymc_bid.graph.decomposition import remember
from pymc_bid.inputs import (
    OBSERVED,
    ROWS,
    Matrix,
    check_offsets,
    labels_or_numbers,
    list_columns,
    read_bounds,
    read_matrix,
    read_numbers,
    read_switch,
)
from pymc_bid.rollback import all_or_nothing
from pymc_bid.standardising import standardise, without_constants

NOISE = ("common", "column")
WEIGHT_PRIOR, HYPERPRIOR = ("mu", "tau"), ("mu_mu", "tau_mu", "alpha_t", "beta_t")
MOMENTS = ("center", "scale")
"""Names of the data that say what was subtracted from columns, and what they were divided by."""
OF_CHOSEN_COLUMNS = {"own_mean": 0.0, "alpha_omega": 1.0, "beta_omega": 1.0}
"""Numbers of the density that chosen columns have with the identity, and their defaults."""
KINDS = {"mu": "finite", "mu_mu": "finite", "own_mean": "finite"}
"""What numbers have to be; all others positive and finite."""


def build_model(
    *,
    A,
    pool,
    bounds,
    missing,
    noise,
    identity,
    k,
    inclusion,
    include,
    exclude,
    expected=None,
    raw=False,
    standardize=False,
    **numbers,
):
    """Return the model of a constructor, whose arguments these are.

    A `raw` table comes as it is: constant columns are left out, and the others may be standardised.
    """
    identity = read_switch(identity, "identity")
    standardize = read_switch(standardize, "standardize")
    target = read_matrix(A, "A", "mask" if standardize and missing == "zero" else missing)
    include, exclude = list_columns(include, "include"), list_columns(exclude, "exclude")
    if identity:
        _report(target, exclude, raw, None if standardize else numbers)
    else:
        _refuse_without_effect(numbers)
    known_data: dict[str, tuple] = {}
    if raw:
        target, constants = without_constants(target, "A")
        if constants.labels.size > 0:
            known_data["constant_value"] = constants.values, "constant"
    if standardize:
        target, *moments = standardise(target)
        known_data |= {
            name: (values, "column") for name, values in zip(MOMENTS, moments, strict=True)
        }
        if missing == "zero":
            target = target._replace(observed=None)
    candidates = target if pool is None else read_matrix(pool, "pool", missing)
    if pool is not None:
        _check_pool(target, candidates, identity)
    check_offsets(target, "A")
    check_offsets(candidates, "A" if pool is None else "pool")
    (rows, columns), size = target.values.shape, candidates.values.shape[1]
    if noise not in NOISE:
        raise ValueError(f"noise must be one of {NOISE}, got {noise!r}.")

    lower, upper = read_bounds(bounds, (size, columns))
    shapes = dict.fromkeys(("alpha_sigma", "beta_sigma"), (columns,) if noise == "column" else ())
    shapes |= dict.fromkeys((*WEIGHT_PRIOR, *HYPERPRIOR), (size, columns))
    for name, value in numbers.items():
        kind = KINDS.get(name, "positive and finite")
        # What becomes data can't be a variable of the model.
        if name == "own_mean" or not isinstance(value, Variable):
            numbers[name] = read_numbers(value, name, kind, shapes.get(name, (size,)))
    coords = {
        "row": labels_or_numbers(target.rows, rows),
        "column": labels_or_numbers(target.columns, columns),
        "basis": labels_or_numbers(candidates.columns, size),
    }
    if "constant_value" in known_data:
        coords["constant"] = constants.labels
    choice = read_choice(
        coords["basis"],
        coords.get("constant", ()),
        k=k,
        inclusion=inclusion,
        expected=expected,
        include=include,
        exclude=exclude,
        uniform=raw,
    )
    context = pm.Model.get_context(error_if_none=False)
    with pm.Model() if context is None else context as model, all_or_nothing(model):

        def dims(*names):
            # A model with a name has it for a prefix.
            return tuple(model.name_for(name) for name in names)

        model.add_coords(dict(zip(dims(*coords), coords.values(), strict=True)))
        for name, (values, dim) in known_data.items():
            pm.Data(name, values, dims=dims(dim))
        data = pm.Data("target", target.values, dims=dims("row", "column"))
        number_of_rows = pm.Data(ROWS, target.number_of_rows) if target.compressed else None
        if target.observed is not None:
            known = target.observed.astype(np.float64)
            known = pm.Data(OBSERVED, known, dims=dims("row", "column"))
            entries = pm.Data("entries", target.values[target.observed])
        # A state vector starts from a draw, so that a sampler that is stuck shows in R-hat. No
        # transforms: our steps do not need them, and they would store everything twice.
        state = StateVector("r", n=size, dims=dims("basis"), **choice)
        pm.Deterministic("K", state.sum())
        sigma2 = pm.InverseGamma(
            "sigma2",
            numbers["alpha_sigma"],
            numbers["beta_sigma"],
            dims=dims("column") if noise == "column" else None,
            default_transform=None,
        )
        if identity:
            own_mean = np.broadcast_to(numbers["own_mean"], (size,))
            own_mean = pm.Data("own_mean", own_mean, dims=dims("basis"))
            omega2 = pm.InverseGamma(
                "omega2",
                numbers["alpha_omega"],
                numbers["beta_omega"],
                dims=dims("basis"),
                default_transform=None,
            )
        if "mu" in numbers:
            mean, precision = (numbers[name] for name in WEIGHT_PRIOR)
        else:
            model.add_coord(*dims("hyperparameter"), ["mu", "tau"])
            mu_tau = GTNSNG(
                "mu_tau",
                **{name: numbers[name] for name in HYPERPRIOR},
                lower=lower,
                upper=upper,
                dims=dims("basis", "column", "hyperparameter"),
            )
            mean, precision = mu_tau[..., 0], mu_tau[..., 1]
        prior = {"mu": mean, "tau": precision, "dims": dims("basis", "column")}
        bounds = [None if np.isinf(bound).all() else bound for bound in (lower, upper)]
        if bounds[0] is None and bounds[1] is None:
            weights = pm.Normal("Y", **prior)
        else:
            prior |= {"lower": bounds[0], "upper": bounds[1], "default_transform": None}
            weights = pm.TruncatedNormal("Y", **prior)
        observed = {"observed": data, "dims": dims("row", "column")}
        sigma = pt.sqrt(sigma2)
        if identity:
            if target.compressed:
                # What compression makes of a column of ones.
                own_mean = (np.arange(rows) == 0)[:, None] * pt.sqrt(number_of_rows) * own_mean
            precision = 1.0 if target.observed is None else known
            options = {"precision": precision, "rows": number_of_rows, **observed}
            Interpolation("A", state, weights, sigma, pt.sqrt(omega2), own_mean, **options)
        else:
            if pool is not None:
                data = pm.Data("pool", candidates.values, dims=dims("row", "basis"))
            fitted = (data * state) @ weights
            if target.observed is not None:
                places = known.nonzero()
                sigma = sigma if noise == "common" else sigma[places[1]]
                pm.Normal("A", mu=fitted[places], sigma=sigma, observed=entries)
            elif target.compressed:
                CompressedNormal("A", fitted, sigma, number_of_rows, **observed)
            else:
                pm.Normal("A", mu=fitted, sigma=sigma, **observed)
    remember(model.root)
    return model


def _refuse_without_effect(numbers: dict[str, Any]) -> None:
    """Refuse numbers that the paper's models don't have; their defaults are no different."""
    for name, default in OF_CHOSEN_COLUMNS.items():
        if isinstance(numbers[name], Variable) or not np.array_equal(numbers[name], default):
            raise ValueError(
                f"{name} has no effect without identity=True: it is of the density that chosen "
                "columns have there. Leave out one or give the other."
            )


def _report(target: Matrix, exclude, raw: bool, numbers: dict | None) -> None:
    """Say what is to be said of the data of a model with the identity.

    The paper's own models take a matrix as it is: what is said here is about a chosen column's
    density, and about columns that explain each other where none explains itself.
    """
    own_mean = None
    if numbers is not None and all(
        np.all(numbers[name] == 1.0) for name in ("alpha_omega", "beta_omega")
    ):
        shape = target.values.shape[1:]
        own_mean = np.broadcast_to(
            read_numbers(numbers["own_mean"], "own_mean", "finite", shape), shape
        )
    for finding in look_at(target, "A", leaves_constants_out=raw, own_mean=own_mean):
        if raw and finding.kind == "rows":
            raise ValueError(finding.text)
        if finding.kind == "index" and all(column in exclude for column in finding.columns):
            continue
        # At the line that calls the constructor.
        warnings.warn(finding.text, stacklevel=4)


def _check_pool(target: Matrix, candidates: Matrix, identity: bool) -> None:
    if identity:
        raise ValueError(
            "identity=True is for a matrix decomposed by its own columns; leave out pool, or "
            "identity."
        )
    if target.compressed or candidates.compressed:
        raise TypeError(
            "A or pool is compressed; they can't be compressed apart, for both have to be "
            "transformed alike. Pass both as they are."
        )
    if len(candidates.values) != len(target.values):
        raise ValueError(
            f"pool has {len(candidates.values)} rows, A has {len(target.values)}; they must be the "
            "same."
        )
    if target.rows is not None and candidates.rows is not None:
        if not np.array_equal(target.rows, candidates.rows):
            raise ValueError("The row labels of pool and A differ; align them first.")
