# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page about the matrix of position faults, made from what its tests saw."""

from collections.abc import Sequence
import math

from position_fault import (
    ALIKE,
    ANY,
    LEAST_ERROR_M,
    Limits,
    Measured,
    Outcome,
    PositionFault,
    WRONG_M,
)

HEAD = f"""\
# Position faults

Reactions of training, `evaluate`, `inspect` and an updater to wrong positions. This page is made
by `pytest --positions-page docs/position_faults.md test/positions` from what its tests saw; the
same tests are part of `./run test`. Faults of the IMU are in [faults.md](faults.md).

Each row is a trial: the fault is done to the positions of a simulated slot car (50 Hz, seven laps
of a track of 4.9 m by 2.3 m). A model is trained on the faulty drive and follows two clean laps.
A model of the clean drive follows the two laps, scored by faulty positions. `inspect` looks at the
faulty drive. An updater is given the faulty positions one after the other.
A shuttle is another vehicle, on a line of 12 m, with another drive for its model to follow.

* *says*: codes of the findings of `inspect --json`; `train` prints the warnings among them.
* *left out*: positions that are left out, of all; in brackets how many that are more than
  {WRONG_M} m away from the car may stay.
* *trained*, *evaluated*: places of the route, limits of the ellipse and RMSE over all ticks, as
  multiples of those of the clean drive, and the share of valid ticks that is lost; in brackets the
  limits, which are {ALIKE} for all three and 2 % where there are none. Errors below
  {LEAST_ERROR_M} m count as that. A score has no places and no limits.
* *updater*: wrong positions that an updater uses, and the limit.

| fault | rule | says | left out | trained | evaluated | updater |
| --- | --- | --- | --- | --- | --- | --- |
"""


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page."""
    return HEAD + ''.join(f'| {" | ".join(cells_of(each))} |\n' for each in outcomes)


def stated(fault: PositionFault) -> list[str]:
    """Return the cells, or the ends of cells, that the row says before anything is tried."""
    says = ', '.join(f'`{code}`' for code in fault.says) or '-'
    trained = f'"{fault.refused}"' if fault.refused else _limits(fault.trained, all_four=True)
    updater = '-' if fault.updater is None else f'({fault.updater})'
    evaluated = _limits(fault.evaluated, all_four=False)
    if fault.unscored:
        evaluated = f'"{fault.unscored}"'
    wrong = f'({fault.wrong})' if fault.wrong < math.inf else '(all)'
    return [fault.name, fault.rule, says, wrong, trained, evaluated, updater]


def cells_of(outcome: Outcome) -> list[str]:
    """Return the cells of a row with what was measured."""
    cells = stated(outcome.fault)
    cells[3] = f'{outcome.left_out} of {outcome.positions} {cells[3]}'
    if outcome.trained is not None:
        cells[4] = f'{_numbers(outcome.trained, all_four=True)}{cells[4]}'
    if outcome.evaluated is not None:
        cells[5] = f'{_numbers(outcome.evaluated, all_four=False)}{cells[5]}'
    if outcome.updater is not None:
        cells[6] = f'{outcome.updater} {cells[6]}'
    return cells


def _limits(limits: Limits | None, *, all_four: bool) -> str:
    if limits is None:
        return '-'
    if limits == ANY:
        return ' (any)'
    usual = type(limits)()
    return '' if limits == usual else f' ({_numbers(limits, all_four=all_four)})'


def _numbers(each: Limits | Measured, *, all_four: bool) -> str:
    sizes = f'{each.places:.2f}, {each.ellipse:.2f}, ' if all_four else ''
    return f'{sizes}{each.error:.2f}, {max(each.valid, 0.0):.1%}'
