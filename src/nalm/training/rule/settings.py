"""The numbers that decide what the rule does, in one place, each with its unit and what fixed it.

"Chosen" names the experiment that fixed a number; docs/results/training-rule.md shows the rest of the evidence. What
follows from rounding, from the size of a batch or from the cost of an operation stands beside the code that needs it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Defaults that need no tuning; an experiment is a difference to them.

    Regression of implied targets
        memory: share of a running second moment that stays at each step. Chosen on single units: 0.8 to 0.95 are alike.
        damping: added to second moments, relative to their mean eigenvalue. On U[1.1,1.2) a hundred inputs differ by
            1e-5 of it, so it has to be far below that and far above float64 rounding.
        early: largest change of any number in a step (in units of the grid) while the samples seen so far are fewer
            than two per unknown and so cannot determine it.

    Choice of the grid
        snap: whether grid points are used at all.
        decisive: ratio of errors from which one side is believed at once. Two: with 128 samples the ratio of two
            estimates of one variance exceeds it once in ten thousand batches.
        patience: steps by which batches for a change must outnumber batches against it where none is decisive. Twenty
            in a row happen by chance once in a million.

    Between learned layers
        informative: largest share of the implied target's variance that the free numbers may leave unexplained; beyond,
            the unit's inputs do not know enough yet, and the unit is left to the base optimiser. Chosen with an encoder
            on seeds 300 to 311: of 24 runs 22 end on the grid with 0.5, 24 with 0.8 and with 0.95.
        explains: share of what the free numbers explain that a grid point may give up to be approached. Chosen on gain
            and bias, an encoder and an MLP; 1 to 5 % are alike.
        doubts: and the share from which on it is left again: three times as much, so that it is not left at once.
        worth_trying: both for a grid point that uses every input, above learned layers; two looks are enough for it.
            These have adapted to the numbers that the unit happens to hold and make up for gains and powers once it
            moves, so that the loss on the way tells more: it is turned back if the loss stops falling there, or, where
            it had stopped before, if it rises by `worse`. As long as the loss falls without it (see `attempt`), only
            one that leaves less than `decisive` times as much unexplained as the best numbers: of 18 networks whose
            layers cannot make up for whole numbers (the last three of benchmarks/rule_adverse.py, seeds 300 to 305) 10
            set out for wrong ones without this, 2 with it. With 3 % readers of digits below a recurrent unit stalled at
            4 to 6 %, with 10 % readers of pairs at 14 to 23 % (MNIST, folds 0 and 1). Not where free exponents point
            the other way: in the four networks of benchmarks/rule_networks.py with an encoder 32 of 32 runs then end on
            the right numbers, 29 without (seeds 1100 to 1107).
        signed: size of a number in a sum, as a share of the largest in its row, from which on a grid point that uses
            every input is taken to have its sign. The sign of a smaller one is an accident, and many layers below
            cannot turn a wrong one round: of 36 sums above attention weights 10 ended more than twice as wrong as with
            Adam without this bound, none with it (seeds 300 to 335). A third: above a quarter, with which one of them
            still did, and below a half, from which on the number is not dropped anyway.
        outdone: times what the best numbers leave unexplained. A grid point that leaves more is not approached while
            the loss falls, whatever it explains: ten is far above 5, with which embeddings below an NMU still go to
            the grid, and far below 30, with which a solved network (attention weights below a sum) was led astray.
        nearly: share that numbers may leave unexplained which drop an input of learned layers while the loss falls from
            look to look. What they leave may be what that input has yet to learn. Chosen on two units on one encoder
            (benchmarks/rule_adverse.py, seeds 300 to 365): products that dropped an input left 8 to 19 % when they did,
            quotients above an encoder, which rightly drop two, 0.3 to 5 % in most runs; the others wait.
        astray: factor by which the loss may rise on the way to a grid point that is tried, whatever that explains.
            Below LayerNorm, a transformer and GELU it rose by up to 2.5 on ways that ended well (seeds 300 to 305).
        better: the free numbers leave less than this share of what the unit leaves: then the unit is moved to them. The
            tenth is about the standard error of a variance in 128 samples.
        glide: largest change of a number on its way to the grid per step, in units of the grid, so that neighbours can
            follow. Chosen with an encoder: jumps destroyed five of eight runs.
        gently: the same above learned layers, which have to learn their features again on the way. Chosen on seeds 300
            to 305 below an MLP, a GRU and a transformer: the error is 0.96 of Adam's with 0.004, 1.04 with 0.01; on 300
            to 323 below an MLP with LayerNorm 1.1 with 0.004, 1.9 with 0.02; with 0.003 many do not arrive in time.
        able: share of its largest rate from which on the base optimiser can make the neighbours follow such a glide,
            which takes hundreds of steps; below it, none is begun. One begun at 5 % tripled the error of an MLP.
        slow: share of the way to the free numbers per step, so that about three batches speak.
        follow: largest change of a number per step, in units of the grid: twenty steps from one value to the next, in
            which Adam's averages follow.
        rescale: share of a row's (logarithmic) distance to scale 1 that is removed per step; as slow as `follow`.
        awake: least value of the largest number of a product above learned layers, in units of the grid, until a grid
            point is found; at zero nothing below it learns. Chosen with embeddings below an NMU (seeds 510 to 517): of
            8 runs 4 end right without it, 7 with 0.05, 8 with 0.1 to 0.3.
        worse: factor by which the loss may stay above what it was before the grid point was approached: more than its
            running mean over twenty batches varies by chance.

    Stacks
        pace: largest share of a joint step that is taken. Half: each unit's step makes up for the same error, and two
            units are the rule.
        trust: largest relative change of the output that a joint step may predict; linear predictions reach no farther.
        balance: share of the imbalance between the rows of a product of sums that is removed per step; far slower than
            the steps that learn, so that it never leads.
        attempt: steps without progress after which a stack without a grid point begins anew. A hundred: searches that
            succeed do so after 50 to 400 steps in all and hardly ever pause for so long.
        enough: a loss below this share of the output's mean square is good enough to stay with: a relative error of
            1e-4, between the rounding of float32 and what a wrong grid point leaves.

    Cost
        spacing: the distance between two looks at the feedback is one step per so many since the last change. Four:
            with ten, a network in which nothing is found pays for twice as many looks; on seeds 300 to 302 as many
            numbers were found in seven networks with either.
        sparse: the same for units above learned layers. What these say changes in every step anyway, and a network that
            could do without the unit pays for every look: with a half, each look comes after twice as much time again.
        tires: looks by which the least distance between two of them grows by one step, for units with nothing learned
            below. Of two units below one layer, each one's numbers keep the other's changing, and so both would be
            looked at in every step; with four, at most 69 times in 600 steps.
        apart: fewest steps between two of their looks. Sixteen: about as many as Adam's averages remember, so that each
            look is at another network than the one before. Their steps are counted at the base optimiser's full rate:
            at the end of a schedule the layers below hardly change, and looks become rarer in proportion.
        rest: most steps between two looks. Two hundred: looking costs about three steps of a small network, which then
            are less than 2 % of its training.
    """

    memory: float = 0.9
    damping: float = 1e-9
    early: float = 0.5
    snap: bool = True
    decisive: float = 2.0
    patience: int = 20
    informative: float = 0.8
    explains: float = 0.03
    doubts: float = 0.1
    worth_trying: float = 0.25
    signed: float = 1 / 3
    outdone: float = 10.0
    nearly: float = 0.05
    astray: float = 4.0
    better: float = 0.9
    glide: float = 0.01
    gently: float = 0.004
    able: float = 0.5
    slow: float = 0.3
    follow: float = 0.05
    rescale: float = 0.05
    awake: float = 0.2
    worse: float = 2.0
    pace: float = 0.5
    trust: float = 1.0
    balance: float = 0.05
    attempt: int = 100
    enough: float = 1e-8
    spacing: int = 4
    tires: int = 4
    sparse: float = 0.5
    apart: int = 16
    rest: int = 200
