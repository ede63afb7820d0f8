"""The folder of a run: its settings, the draws of all chains, and where each chain is."""

import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pymc_bid.memory import readable
from pymc_bid.sampling.states import read_state, write_state

SETTINGS, DRAWS = "run.json", "draws.bin"


class AnotherRunError(ValueError):
    """A folder has a run of something else."""


class RunFolder:
    """The folder that a run is kept in.

    * `run.json` says what run it is.
    * `draws.bin` has a record of fixed size for every draw after tuning: draw d of chain c starts
      at byte (d · chains + c) · size.
    * `chain-0.npz` and so on say where a chain was when it was flushed last: how many iterations it
      had made, its point, and the states of its samplers. Records of later iterations may be there
      or not, and are written again.

    Parameters
    ----------
    path : path
    record : numpy.dtype
        Of one draw.
    chains, draws : int
    """

    def __init__(self, path: Path, record: np.dtype, chains: int, draws: int):
        self.path, self.record, self.chains, self.draws = path, record, chains, draws

    def reserve(self) -> None:
        """Lay out the file of the draws, or a longer one if there are to be more."""
        size = self.draws * self.chains * self.record.itemsize
        with open(self.path / DRAWS, "ab") as file:
            missing, free = size - file.tell(), shutil.disk_usage(self.path).free
            if missing > free:
                warnings.warn(
                    f"{self.draws} draws of {self.chains} chains take {readable(missing)} in "
                    f"{self.path}, and {readable(free)} are free there.",
                    UserWarning,
                    stacklevel=3,
                )
            if missing > 0:
                file.truncate(size)

    def read_draws(self) -> np.ndarray:
        """Return all draws, (draw, chain), read from disk when they are used."""
        return np.memmap(self.path / DRAWS, self.record, "r", shape=(self.draws, self.chains))


class ChainFiles:
    """The files of one chain, open.

    Parameters
    ----------
    folder : RunFolder
    chain : int
    """

    def __init__(self, folder: RunFolder, chain: int):
        self._folder, self._chain = folder, chain
        self._state = folder.path / f"chain-{chain}.npz"
        for left_behind in folder.path.glob(f"{self._state.name}.*"):
            left_behind.unlink(missing_ok=True)
        self._draws = open(folder.path / DRAWS, "r+b", buffering=0)
        self._earlier = folder.read_draws()

    def write(self, draw: int, record: np.ndarray) -> None:
        """Write a draw to its place."""
        self._draws.seek((draw * self._folder.chains + self._chain) * record.nbytes)
        rest = memoryview(record.reshape(1).view(np.uint8))
        while rest:
            rest = rest[self._draws.write(rest) :]

    def read(self, draw: int) -> np.ndarray:
        """Return a draw."""
        return self._earlier[draw, self._chain]

    def flush(self, values: dict[str, Any]) -> None:
        """Keep what was written, and where the chain is, whatever happens afterwards."""
        os.fsync(self._draws.fileno())
        write_beside(self._state, lambda file: write_state(file, values))

    def where(self, like: dict[str, Any]) -> dict[str, Any] | None:
        """Return where the chain was when it was flushed last, None if it never was."""
        try:
            with open(self._state, "rb") as file:
                return read_state(file, like)
        except FileNotFoundError:
            return None

    def close(self) -> None:
        """Close them."""
        self._draws.close()


def write_beside(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Have a file written beside `path` and put in its place when it is on the disk as a whole."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # The new name, too, is only on the disk when its folder is.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def settle(path: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the run in a folder, or begin one there.

    Raises
    ------
    AnotherRunError
        If there is another run.
    """
    settings = json.loads(json.dumps(settings))
    try:
        known = json.loads((path / SETTINGS).read_text())
    except FileNotFoundError:
        if settings["random_seed"] is None:
            settings["random_seed"] = np.random.SeedSequence().entropy
        path.mkdir(parents=True, exist_ok=True)
        write_beside(path / SETTINGS, lambda file: file.write(json.dumps(settings).encode()))
        return settings
    if settings["random_seed"] is None:
        settings["random_seed"] = known["random_seed"]
    for name, value in settings.items():
        if known.get(name) != value:
            difference = f"{name} {known.get(name)}, not {value}"
            if name == "model":
                difference = "another model or other data"
            raise AnotherRunError(
                f"{path} has a run with {difference}; give this one another folder."
            )
    return known
