# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page about the fault matrix, made from what its tests saw."""

from collections.abc import Sequence

from fault import FAR_M, Fault, LEAST_ERROR_M, MOST_ERROR, Outcome, StreamFault, SURE

HEAD = f"""\
# Faults

Reactions of the nodes to every fault that was seen in the wild, or thought of. This page is made
by `./run faults` from what its tests saw; `./run test` runs the same tests.

Each row is a trial. A filter is sent a healthy drive of the simulated slot car, then the fault,
then the healthy drive again: a real `filter_node` over DDS where the driver or the ROS clock is at
fault, and otherwise the session of a filter node in the process of the test, on the clock of the
drive. The model runs at 10 Hz with windows of 20 ticks, the IMU at 50 Hz; as
it is of one car on one day, it is trained with `--sharpness .4 --persistence .5`.
In every trial the node has to survive. Every published number has to be finite, and nothing may be
published in a state that publishes nothing. Counters have to add up: `received` is the sum of
`used`, `waiting` and the rejected by cause. They have to show each refused message under its
cause.

The rows after them are of the machine around the nodes. They use real processes again, of all
nodes and of the commands that write, on a machine with a fault. In every trial what ends has to
end with the status it promises and without a traceback. Whatever an IMU publisher offers
(reliability, durability, deadline, liveliness), the nodes hear it: they ask for nothing. A hang-up
is heard unless it is ignored, as by `nohup`. Only SIGKILL and a loss of power may leave a hidden
file or folder (`.NAME.*`, `.bag-*`), which may be removed; an updater removes its own. Where the
network comes up later than a node, the node has to be restarted.

* *says*: status and cause in `diagnostics`, see [states.md](states.md); a counter where the fault
  does no harm that had to be reported; or what is logged or printed, or how it ends.
* *after*: seconds of the drive until it is reported (of the clock where no messages come), and the
  limit.
* *wrong*: ticks in which a wrong position was published as sure, and the limit. A position is
  wrong if the truth lies outside the 95 % ellipse and more than {FAR_M} m away, an error that a
  healthy drive has now and then (the track is 4.9 m by 2.3 m), or outside {SURE:g} times the
  ellipse and more than {SURE:g} times as far away as usual; off the track every one is.
* *back*: ticks after the end of the fault until it tracks again, and the limit. Where the window
  starts again it takes 20 to fill; a better status is published after 10. Where a fault of
  the input was named, it first has to leave the window (20). Then four looks, five ticks apart,
  have to agree that the input is as in training.
* *error*: after that limit (where there is no harm: from the start of the fault), as a multiple of
  the error without the fault at the same places; at most {MOST_ERROR}. Errors below
  {LEAST_ERROR_M} m count as that.

| fault | rule | says | after, s | wrong | back, ticks | error |
| --- | --- | --- | --- | --- | --- | --- |
"""


def page(outcomes: Sequence[Outcome], machine: str) -> str:
    """Return the page; ``machine`` says where it was made."""
    rows = ''.join(f'{_row(each)}\n' for each in outcomes)
    return f'{HEAD}{rows}\n{machine}\n'


def stated(fault: Fault) -> list[str]:
    """Return the cells, or parts of cells, that the row says before anything is tried."""
    within = f'({fault.within_s:g})' if fault.within_s else '-'
    driven = fault.recovers is not None
    blind, back = (f'({each})' if driven else '-' for each in (fault.blind, fault.recovers))
    name = f'{fault.name} ({fault.seen})' if fault.seen else fault.name
    return [name, fault.rule, _says(fault), within, blind, back]


def _row(outcome: Outcome) -> str:
    fault = outcome.fault
    name, rule, says, within, blind, back = stated(fault)
    cells = [
        name,
        rule,
        says,
        _with(_number(outcome.detected_s, '.2f'), within),
        _with(str(outcome.unnoticed), blind),
        _with(_number(outcome.recovered, 'd'), back),
        _number(outcome.error_ratio, '.2f'),
    ]
    return f'| {" | ".join(cells)} |'


def _says(fault: Fault) -> str:
    status, cause = fault.says
    counter = fault.counter if isinstance(fault, StreamFault) else ''
    named = f'`{cause or counter}`' if cause or counter else ''
    return ', '.join(part for part in (status, named) if part)


def _number(value: float | None, form: str) -> str:
    return '-' if value is None else format(value, form)


def _with(value: str, limit: str) -> str:
    return '-' if limit == '-' else f'{value} {limit}'
