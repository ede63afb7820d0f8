"""Constants of the samplers that no formula gives, each with the measurement that chose it."""

FEW_COLUMNS = 16
"""Up to this number the evidences of all sets fit into a megabyte, and are remembered."""

FIRST_WINDOW = 25
"""Iterations before replicas are placed anew for the first time."""
WINDOW_GROWTH = 1.5
"""How much longer each of the next windows is: with 1000 iterations there are seven."""

FEWEST_RUNGS, MOST_RUNGS = 3, 32

BOUNDS_FROM = 1 / 16
"""β from which on the mass within the bounds counts: to a power that rises from 0 to 1 with log β.
Gene body methylation, 4 chains: 21 to 32 round trips in 1000 from 1/16 on, 17 to 27 from 1/4 on;
from 0 to 1 at β = 1 alone, where sets do not move any more, 0 to 26."""

FIRST_SIZE = 10.0
"""Most columns that sets from the reference have on average before anything is known."""

MOST_START_WORK = 1e9
"""Targets times cubed columns of a start up to which a chain is left there. Noise, 20×1000, with
the identity: from the 489 columns that the prior draws the first exchange is not decided within
190 s, from 10 of them no step takes more than 0.2 s."""

FEWEST_SLOPES = 5
"""Offers of another number of columns that the bias is the median of, at least."""

REFERENCE_SHAPE = 0.1
"""Of the noise variance at β = 0; the smaller, the flatter in its logarithm. With InverseGamma(1,
mean square) two slices of the panel, at given noise, were wrong and called converged."""

MOST_SWAPS = 5
"""Columns that a replica changes each time it moves, by flips or else by swaps; at given noise not
more swaps than are chosen. On promoter methylation (6 of 254 chosen) 2, 6 and 12 swaps everywhere
made 0.45, 0.56 and 0.51 round trips a second; on gene body methylation swaps at hot rungs, where
flips change more, took a fifth of the time and made no more round trips (27.7 and 27 of 1000)."""

MOST_WORK = 2.5e7
"""Products of two numbers that moves of replicas take in one iteration of the chain, some 25 ms. A
ladder that takes more goes on in the next ones. Promoter methylation (160×254) takes half of
that, so that all of it moves in every iteration."""

MOST_FLIP_WORK = 4e8
"""Products that flips take in one iteration, if every column goes in or out: a replica with more
than some 600 columns goes on with the rest of them in the next one, so that an interrupt is
answered. Noise, 20×2000, identity: 1080 flips of one replica in a row took 19 s."""

MOST_MASS_WORK = 1.5e4
"""Targets times squared columns up to which the mass within the bounds is part of the ladder: some
1 ms, and two to six of them for a new set where the noise is integrated out. Gene body methylation
(6 of 254 chosen) has 9e3; EC50 twice (24 of 48, paper's model), where one number for all columns
does as well, 2.8e4."""

MOST_KNOWN = 10
"""Sets that a chain remembers the evidence with bounds of, where the noise is integrated out: its
own and one of the ladder's are mostly asked for. They are part of what PyMC copies and stores."""
LEAST_UNIT = 1e-100
"""That the closed form measures data in, in standard deviations of the noise: its square is a
number of double precision, and so is the noise variance divided by it."""
