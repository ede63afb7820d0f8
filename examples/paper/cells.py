"""What the study consists of: its cells, how each is sampled, and what the paper printed."""

from dataclasses import dataclass
from functools import cache

import pandas as pd

import pymc_bid as bid

NUMBERS = {
    "ccle_ec50": (5, 10, 15, 24),
    "ccle_ic50": (5, 10, 15, 24),
    "methylation_gene_body": (100, 120, 140, 160),
    "methylation_promoter": (100, 120, 140, 160),
}
TITLES = {
    "ccle_ec50": "EC50",
    "ccle_ic50": "IC50",
    "methylation_gene_body": "gene body",
    "methylation_promoter": "promoter",
}
MODELS = ("gbt", "gbtn")
# "paper" starts from a state drawn from its prior and weights of zero, so that the first flips are
# coins; "paper_prior" from a draw of everything. With a fixed number that makes no difference.
SAMPLERS = ("paper", "paper_prior", "default")

# Mean squared errors that the paper printed: GBT for each number of columns, and both models with
# automatic relevance determination.
PRINTED = {
    ("ccle_ec50", "gbt"): (0.354, 0.218, 0.131, 0.046, 0.034),
    ("ccle_ic50", "gbt"): (0.301, 0.231, 0.161, 0.103, 0.035),
    ("methylation_gene_body", "gbt"): (0.433, 0.443, 0.466, 0.492, 0.363),
    ("methylation_promoter", "gbt"): (0.323, 0.319, 0.350, 0.337, 0.252),
    ("ccle_ec50", "gbtn"): (None, None, None, None, 0.031),
    ("ccle_ic50", "gbtn"): (None, None, None, None, 0.031),
    ("methylation_gene_body", "gbtn"): (None, None, None, None, 0.372),
    ("methylation_promoter", "gbtn"): (None, None, None, None, 0.263),
}


@dataclass(frozen=True)
class Settings:
    """How a cell is sampled; `tune` iterations come before the draws and are not kept."""

    tune: int
    draws: int
    chains: int
    nu: int = 5


@dataclass(frozen=True)
class Cell:
    """One data set, model, number of columns (None: free) and sampler."""

    data: str
    model: str
    k: int | None
    sampler: str

    @property
    def name(self) -> str:
        return f"{self.data}-{self.model}-{self.columns}-{self.sampler}"

    @property
    def columns(self) -> str:
        return "ard" if self.k is None else str(self.k)

    @property
    def printed(self) -> float | None:
        """The error that the paper printed, or None."""
        numbers = (*NUMBERS[self.data], None)
        return PRINTED[self.data, self.model][numbers.index(self.k)]

    def settings(self, quick: bool) -> Settings:
        """The paper's sampler as the paper ran it; ours within the time there is."""
        wide = self.data.startswith("methylation")
        if self.sampler != "default":
            chains = 5 if self.k is None or not wide else 2
            return Settings(20, 60, 2) if quick else Settings(100, 900, chains)
        if quick:
            return Settings(100, 100, 2)
        return Settings(500, 500, 4) if wide else Settings(1000, 1000, 4)


def all_cells(quick: bool = False) -> list[Cell]:
    """The study's cells; the quick version takes a few of them, with fewer iterations."""
    if quick:
        wanted = [("ccle_ec50", model, k) for model in MODELS for k in (10, None)]
        wanted += [("methylation_promoter", "gbt", 100)]
    else:
        wanted = [
            (data, model, k)
            for data, numbers in NUMBERS.items()
            for model in MODELS
            for k in (*numbers, None)
        ]
    return [
        Cell(*cell, sampler)
        for cell in wanted
        for sampler in SAMPLERS
        if sampler != "paper_prior" or (cell[-1] is None and cell[0].startswith("ccle"))
    ]


@cache
def matrix(data: str) -> pd.DataFrame:
    """A data set as the paper prepares it: drug sensitivities get every column twice."""
    return bid.datasets.prepare(
        bid.datasets.load(data), duplicates=1 if data.startswith("ccle") else 0
    )
