"""Questions about a PyTensor graph that do not depend on what the model is for."""

from collections.abc import Iterable, Sequence

import pytensor
import pytensor.scalar as ps
from pymc.model import Model
from pytensor.compile.mode import Mode
from pytensor.compile.ops import ViewOp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, toposort
from pytensor.tensor.basic import Alloc, AllocDiag
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Dot, Sum
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

# Interpreted, not compiled: the graphs are a handful of NumPy calls, and compiling them would cost
# a user seconds before the first draw.
INTERPRETED = Mode(linker="py", optimizer="fast_compile")

_REARRANGING = (
    *(DimShuffle, Reshape, SpecifyShape, Subtensor, AdvancedSubtensor),
    *(Alloc, AllocDiag, ViewOp),
)
_SUMS = (ps.Add, ps.Sub, ps.Neg, ps.Cast, ps.Identity, ps.Second)
_MONOMIAL_SCALARS = (
    *(ps.Mul, ps.TrueDiv, ps.Reciprocal, ps.Sqrt, ps.Sqr),
    # A monomial of a positive number is its own absolute value up to the sign of its coefficient.
    *(ps.Abs, ps.Sign, ps.Cast, ps.Identity, ps.Second),
)


def random_variables_in(expressions: Iterable[Variable], model: Model) -> list[Variable]:
    """Random variables that the expressions depend on directly, in the model's order."""
    found = set(ancestors(list(expressions), blockers=set(model.basic_RVs)))
    return [variable for variable in model.basic_RVs if variable in found]


def children(variable: Variable, model: Model) -> list[Variable]:
    """Return the random variables and potentials whose density depends directly on `variable`."""
    dependents = [
        other
        for other in model.basic_RVs
        if other is not variable and variable in random_variables_in(other.owner.inputs, model)
    ]
    potentials = [p for p in model.potentials if variable in random_variables_in([p], model)]
    return dependents + potentials


def only_parent(expressions: Iterable[Variable], kind: type, model: Model) -> Variable | None:
    """Return the one random variable of the expressions if it is free and of this kind."""
    parents = random_variables_in(expressions, model)
    if len(parents) != 1 or parents[0] not in model.free_RVs:
        return None
    return parents[0] if isinstance(parents[0].owner.op, kind) else None


def parameters_of(variable: Variable) -> list[Variable]:
    """Return the parameters of a random variable's distribution."""
    return list(variable.owner.op.dist_params(variable.owner))


def shape_of(variable: Variable) -> tuple[int, ...]:
    """Return the shape that a variable has now."""
    return tuple(int(length) for length in variable.shape.eval(mode=INTERPRETED))


def data_containers(
    expressions: Iterable[Variable], blockers: Iterable[Variable] = ()
) -> list[SharedVariable]:
    """Shared variables (`pm.Data`) that expressions read, not by way of `blockers`."""
    found = dict.fromkeys(ancestors(list(expressions), blockers=set(blockers)))
    return [node for node in found if isinstance(node, SharedVariable)]


def dependent_nodes(expression: Variable, variables: Sequence[Variable]) -> list[Apply]:
    """Nodes on the paths from `variables` to `expression`."""
    dependents, nodes = set(variables), []
    for node in toposort([expression], blockers=variables):
        if not dependents.isdisjoint(node.inputs):
            dependents.update(node.outputs)
            nodes.append(node)
    return nodes


def is_polynomial(
    expression: Variable, variables: Sequence[Variable], *, affine: bool = False
) -> bool:
    """Whether `expression` is built from `variables` by sums, products and rearranging alone.

    A polynomial is determined by its values at random points, so for such an expression a
    numerical comparison proves an identity; for any other it proves nothing. An `affine` one has no
    products of `variables` with each other.
    """
    for node in dependent_nodes(expression, variables):
        op, scalar = _operation(node)
        dependent = [_depends(factor, variables) for factor in node.inputs]
        if isinstance(scalar, ps.Mul) or isinstance(op, Dot):
            if affine and sum(dependent) > 1:
                return False
        elif isinstance(scalar, ps.TrueDiv):
            if dependent[1]:
                return False
        elif not (isinstance(scalar, _SUMS) or isinstance(op, Sum) or _rearranges(node, variables)):
            return False
    return True


def is_monomial(expression: Variable, variables: Sequence[Variable]) -> bool:
    """Whether each entry of `expression` is c·Π x^p of positive entries x of `variables`."""
    for node in dependent_nodes(expression, variables):
        _, scalar = _operation(node)
        if isinstance(scalar, ps.Pow):
            if _depends(node.inputs[1], variables):
                return False
        elif not (isinstance(scalar, _MONOMIAL_SCALARS) or _rearranges(node, variables)):
            return False
    return True


def is_rearrangement(expression: Variable, variables: Sequence[Variable]) -> bool:
    """Whether each entry of `expression` is an entry of `variables`, its place given by data."""
    return all(_rearranges(node, variables) for node in dependent_nodes(expression, variables))


def _operation(node: Apply) -> tuple[Op, ps.ScalarOp | None]:
    """Return what a node does to each matrix of a batch, and to each entry if it is elementwise."""
    op = node.op.core_op if isinstance(node.op, Blockwise) else node.op
    return op, op.scalar_op if isinstance(op, Elemwise) else None


def _rearranges(node: Apply, variables: Sequence[Variable]) -> bool:
    """Whether a node only moves entries about, to places that do not depend on `variables`."""
    return isinstance(_operation(node)[0], _REARRANGING) and not any(
        _depends(place, variables) for place in node.inputs[1:]
    )


def _depends(expression: Variable, variables: Sequence[Variable]) -> bool:
    return not set(variables).isdisjoint(ancestors([expression], blockers=variables))


def as_function(inputs: Sequence[Variable], outputs: Sequence[Variable]):
    """Compile `outputs` as a function of `inputs`, which may be random variables."""
    replacements = {variable: variable.type() for variable in inputs}
    outputs = clone_replace(list(outputs), replace=replacements)
    return pytensor.function(
        list(replacements.values()),
        outputs,
        mode=INTERPRETED,
        on_unused_input="ignore",
    )
