"""Telling whether a model, its data included, is the one that a run was begun with."""

import hashlib
import re

import numpy as np
from pymc.model import Model
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors


def fingerprint(model: Model) -> str:
    """Return a digest of the graph of a model and of all numbers in it."""
    observed = [model.rvs_to_values[variable] for variable in model.observed_RVs]
    outputs = [*model.basic_RVs, *model.deterministics, *model.potentials, *observed]
    places: dict[Variable, int] = {}
    for variable in ancestors(outputs):
        places.setdefault(variable, len(places))
    digest = hashlib.sha256()
    for variable in places:
        node = variable.owner
        made_by = "" if node is None else f"{node.op} {[places[one] for one in node.inputs]}"
        # Some operations say at which address they are.
        text = re.sub("0x[0-9a-f]+", "", f"{variable.name} {variable.type} {made_by}")
        digest.update(text.encode())
        if isinstance(variable, Constant):
            digest.update(_as_bytes(variable.data))
        elif isinstance(variable, SharedVariable) and hasattr(variable.type, "ndim"):
            digest.update(_as_bytes(variable.get_value(borrow=True)))
    transforms = [str(model.rvs_to_transforms[variable]) for variable in model.free_RVs]
    digest.update(re.sub("0x[0-9a-f]+", "", str(transforms)).encode())
    return digest.hexdigest()


def _as_bytes(value) -> bytes:
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
