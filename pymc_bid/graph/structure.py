"""Questions about a PyTensor graph that do not depend on what the model is for."""

from collections.abc import Iterable, Sequence

import pytensor
import pytensor.scalar as ps
from pymc.model import Model
from pytensor.compile.mode import Mode
from pytensor.compile.ops import ViewOp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import Alloc, AllocDiag
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Dot, Sum
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

# Interpreted, not compiled: the graphs are a handful of NumPy calls, and compiling them would cost
# a user seconds before the first draw.
INTERPRETED = Mode(linker="py", optimizer="fast_compile")

_REARRANGING = (DimShuffle, Reshape, SpecifyShape, Subtensor, Alloc, AllocDiag, ViewOp)
_POLYNOMIAL_SCALARS = (ps.Add, ps.Sub, ps.Mul, ps.Neg, ps.Cast, ps.Identity, ps.Second)
_MONOMIAL_SCALARS = (
    *(ps.Mul, ps.TrueDiv, ps.Reciprocal, ps.Sqrt, ps.Sqr, ps.Pow),
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


def is_fixed(expression: Variable) -> bool:
    """Whether an expression has one value for ever: no random variable, no data container."""
    return all(
        isinstance(node, Constant)
        for node in ancestors([expression])
        if node.owner is None or isinstance(node, SharedVariable)
    )


def data_containers(
    expressions: Iterable[Variable], blockers: Iterable[Variable] = ()
) -> list[SharedVariable]:
    """Shared variables (`pm.Data`) that expressions read, not by way of `blockers`."""
    found = dict.fromkeys(ancestors(list(expressions), blockers=set(blockers)))
    return [node for node in found if isinstance(node, SharedVariable)]


def dependent_nodes(expression: Variable, variables: Sequence[Variable]) -> list[Apply]:
    """Nodes on the paths from `variables` to `expression`."""
    wanted = set(variables)
    depends: dict[Variable, bool] = {}
    nodes: list[Apply] = []

    def visit(node: Variable) -> bool:
        if node in depends:
            return depends[node]
        if node in wanted:
            depends[node] = True
        elif node.owner is None:
            depends[node] = False
        else:
            # A list, not a generator: every input has to be visited.
            depends[node] = any([visit(parent) for parent in node.owner.inputs])
            if depends[node]:
                nodes.append(node.owner)
        return depends[node]

    visit(expression)
    return nodes


def is_polynomial(expression: Variable, variables: Sequence[Variable]) -> bool:
    """Whether `expression` is built from `variables` by sums, products and rearranging alone.

    A polynomial is determined by its values at random points, so for such an expression a
    numerical comparison proves an identity; for any other it proves nothing.
    """
    for node in dependent_nodes(expression, variables):
        op = node.op.core_op if isinstance(node.op, Blockwise) else node.op
        if isinstance(op, Elemwise):
            if isinstance(op.scalar_op, ps.TrueDiv):
                if dependent_nodes(node.inputs[1], variables) or node.inputs[1] in variables:
                    return False
            elif not isinstance(op.scalar_op, _POLYNOMIAL_SCALARS):
                return False
        elif not isinstance(op, (*_REARRANGING, Dot, Sum)):
            return False
    return True


def is_monomial(expression: Variable, variables: Sequence[Variable]) -> bool:
    """Whether each entry of `expression` is c·Π x^p of positive entries x of `variables`."""
    for node in dependent_nodes(expression, variables):
        op = node.op.core_op if isinstance(node.op, Blockwise) else node.op
        if isinstance(op, Elemwise):
            if not isinstance(op.scalar_op, _MONOMIAL_SCALARS):
                return False
            if isinstance(op.scalar_op, ps.Pow) and (
                dependent_nodes(node.inputs[1], variables) or node.inputs[1] in variables
            ):
                return False
        elif not _rearranges(node, variables):
            return False
    return True


def is_rearrangement(expression: Variable, variables: Sequence[Variable]) -> bool:
    """Whether each entry of `expression` is an entry of `variables`, its place given by data."""
    return all(_rearranges(node, variables) for node in dependent_nodes(expression, variables))


def is_affine(expression: Variable, variables: Sequence[Variable]) -> bool:
    """Whether `expression` is a sum of entries of `variables`, with coefficients free of them."""
    for node in dependent_nodes(expression, variables):
        op = node.op.core_op if isinstance(node.op, Blockwise) else node.op
        scalar = op.scalar_op if isinstance(op, Elemwise) else None
        factors = [_depends(factor, variables) for factor in node.inputs]
        if isinstance(scalar, ps.Mul) or isinstance(op, Dot):
            if sum(factors) > 1:
                return False
        elif isinstance(scalar, ps.TrueDiv):
            if factors[1]:
                return False
        elif not (
            isinstance(scalar, (ps.Add, ps.Sub, ps.Neg, ps.Cast, ps.Identity))
            or isinstance(op, Sum)
            or _rearranges(node, variables)
        ):
            return False
    return True


def _rearranges(node: Apply, variables: Sequence[Variable]) -> bool:
    """Whether a node only moves entries about, to places that do not depend on `variables`."""
    return isinstance(node.op, (*_REARRANGING, AdvancedSubtensor)) and not any(
        _depends(place, variables) for place in node.inputs[1:]
    )


def _depends(expression: Variable, variables: Sequence[Variable]) -> bool:
    return expression in variables or bool(dependent_nodes(expression, variables))


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
