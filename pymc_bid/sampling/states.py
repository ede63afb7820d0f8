"""States of samplers as arrays and text: what is read back is data, never code."""

import json
from dataclasses import fields, is_dataclass
from itertools import chain, repeat
from typing import Any, BinaryIO

import numpy as np
from pymc.step_methods.compound import CompoundStep, flatten_steps
from pymc.util import RandomGeneratorState

from pymc_bid.kernels.ladder.replicas import Reference, Replicas
from pymc_bid.steps.exchange import Frozen
from pymc_bid.steps.ladder import Ladder
from pymc_bid.steps.state import StateStep

PLAIN = (type(None), bool, int, float, str)
"""What JSON keeps as it is."""
KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Ladder, Replicas, Reference, RandomGeneratorState)
}
"""What is put together again from its fields, beside the states that PyMC's base classes make."""


def write_state(file: BinaryIO, values: dict[str, Any]) -> None:
    """Write values that are made of numbers, text, arrays and states of steps.

    Raises
    ------
    TypeError
        If there is anything else in them.
    """
    arrays: list[np.ndarray] = []
    tree = json.dumps({name: _encode(value, arrays) for name, value in values.items()}).encode()
    named: dict[str, Any] = {f"array{number}": array for number, array in enumerate(arrays)}
    np.savez(file, tree=np.frombuffer(tree, np.uint8), **named)


def read_state(file: BinaryIO, like: dict[str, Any]) -> dict[str, Any]:
    """Read values; states of steps become such as stand at the same place in `like`."""
    with np.load(file, allow_pickle=False) as stored:
        arrays = [stored[f"array{number}"] for number in range(len(stored.files) - 1)]
        tree = json.loads(stored["tree"].tobytes())
    return {name: _decode(node, arrays, like.get(name)) for name, node in tree.items()}


def restore(step: CompoundStep, state: Any) -> None:
    """Give a step a state that was read."""
    step.sampling_state = state
    for part in flatten_steps(step):
        if isinstance(part, StateStep) and part.frozen is not None:
            # Made anew of what it was made of: it has addresses of functions, of this process.
            made_of: Any = part.frozen
            part.freeze(**made_of)


def _encode(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a value as JSON has it; arrays are added to a list and told by their place in it."""
    kind: Any = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "number": len(arrays) - 1}
    if kind in (list, tuple):
        return {kind.__name__: [_encode(part, arrays) for part in value]}
    if kind is dict:
        return {"dict": [[_encode(part, arrays) for part in pair] for pair in value.items()]}
    if kind is Frozen:
        log_odds = value.marginal.log_odds
        named = {"point": value.point, "log_odds": log_odds, "bias": value.bias}
    elif kind in KINDS.values():
        named = vars(value) if kind is Ladder else value._asdict()
    elif is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
    else:
        raise TypeError(f"{value!r:.60} of type {kind.__name__} is no number, text or array.")
    name = kind.__name__ if kind is Frozen or kind in KINDS.values() else "state"
    return {name: {field: _encode(part, arrays) for field, part in named.items()}}


def _decode(node: Any, arrays: list[np.ndarray], like: Any = None) -> Any:
    """Return what a node stands for, and for the state of a step one of the type of `like`."""
    if not isinstance(node, dict):
        return node
    ((kind, content),) = node.items()
    if kind in ("array", "number"):
        return arrays[content] if kind == "array" else arrays[content][()]
    if kind in ("list", "tuple"):
        places = chain(like if isinstance(like, list) else (), repeat(None))
        found = [_decode(part, arrays, place) for part, place in zip(content, places, strict=False)]
        return found if kind == "list" else tuple(found)
    if kind == "dict":
        return dict([_decode(part, arrays) for part in pair] for pair in content)
    named = {
        name: _decode(part, arrays, getattr(like, name, None)) for name, part in content.items()
    }
    if kind == "Ladder":
        ladder = object.__new__(Ladder)
        vars(ladder).update(named)
        return ladder
    if kind == "Frozen":
        return named
    return (type(like) if kind == "state" else KINDS[kind])(**named)
