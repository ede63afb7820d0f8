"""The public names, each listed once; `pymc_bid` hands them on when one is first asked for."""

# Not `from pymc_bid import`, which would ask for the names that are listed here.
import pymc_bid.datasets as datasets  # noqa: F401
from pymc_bid.compression import CompressedMatrix as CompressedMatrix
from pymc_bid.compression import compress as compress
from pymc_bid.distributions import GTNSNG as GTNSNG
from pymc_bid.distributions import CompressedNormal as CompressedNormal
from pymc_bid.distributions import Interpolation as Interpolation
from pymc_bid.distributions import StateVector as StateVector
from pymc_bid.evidence import LogEvidence as LogEvidence
from pymc_bid.evidence import log_evidence as log_evidence
from pymc_bid.memory import trace_size as trace_size
from pymc_bid.models import column_selection as column_selection
from pymc_bid.models import gbt as gbt
from pymc_bid.models import gbtn as gbtn
from pymc_bid.plots.chains import plot_autocorrelation as plot_autocorrelation
from pymc_bid.plots.chains import plot_error as plot_error
from pymc_bid.plots.chains import plot_inclusion as plot_inclusion
from pymc_bid.plots.chains import plot_size as plot_size
from pymc_bid.plots.matrices import plot_decomposition as plot_decomposition
from pymc_bid.plots.matrices import plot_weights as plot_weights
from pymc_bid.plots.sets import plot_replacements as plot_replacements
from pymc_bid.plots.sets import plot_size_curve as plot_size_curve
from pymc_bid.results.alternatives import replacements as replacements
from pymc_bid.results.alternatives import size_curve as size_curve
from pymc_bid.results.convergence import Convergence as Convergence
from pymc_bid.results.convergence import check_convergence as check_convergence
from pymc_bid.results.decompose import decompose as decompose
from pymc_bid.results.decomposition import InterpolativeDecomposition as InterpolativeDecomposition
from pymc_bid.results.diagnostics import autocorrelation as autocorrelation
from pymc_bid.results.diagnostics import ess_per_second as ess_per_second
from pymc_bid.results.diagnostics import state_summary as state_summary
from pymc_bid.results.likelihood import log_likelihood as log_likelihood
from pymc_bid.results.predict import impute as impute
from pymc_bid.results.scores import score_sets as score_sets
from pymc_bid.running_means import RunningMeans as RunningMeans
from pymc_bid.sampling.sample import sample as sample
from pymc_bid.steps import FlipStep as FlipStep
from pymc_bid.steps import InclusionStep as InclusionStep
from pymc_bid.steps import NoiseStep as NoiseStep
from pymc_bid.steps import SwapStep as SwapStep
from pymc_bid.steps import WeightStep as WeightStep
from pymc_bid.stopping import StopWhenStationary as StopWhenStationary
