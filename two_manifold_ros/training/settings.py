# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Settings of a training: a record for each method, whose fields have range, unit and help.

Options of commands, parameters of the trainer node, checks and pages are loops over the fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, MISSING, replace
import math
from typing import Any, NamedTuple, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import (
    CLOCKS,
    COUPLINGS,
    GUARDS,
    HORIZONS,
    KERNELS,
    METHODS,
    OBSERVATIONS,
    READOUTS,
    STEP_LOAD,
    WINDOW_FEATURES,
)

if TYPE_CHECKING:
    from typing_extensions import Self


LEAST = 1e-9
"""Least value of a number that has to be positive."""


class Setting(NamedTuple):
    """Facts about a setting. The range is inclusive."""

    kind: type  # of the value, or of its entries
    what: str  # for help and pages
    usual: str = 'chosen'  # what training does where the default is `None`
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()  # all words that are allowed
    units: str = ''
    letter: str = 'X'  # place of the value in the help of the option
    option: str = ''  # of `train`; empty where only Python and the trainer node set it

    def allows(self, value: Any) -> bool:  # noqa: ANN401 - any given value is judged
        """Return whether a value is one of the choices, or in the range."""
        return value in self.choices if self.choices else self.low <= value <= self.high

    @property
    def allowed(self) -> str:
        """Words for the values that are allowed."""
        if self.choices:
            return f'one of {", ".join(self.choices)}'
        return f'{self.low:.12g} to {self.high:.12g} {self.units}'.rstrip()


def setting(default: Any, kind: type, what: str, **known: Any) -> Any:  # noqa: ANN401 - a field
    """Return a field of a record of settings; ``between`` is the range of numbers."""
    low, high = known.pop('between', (-math.inf, math.inf))
    facts = Setting(kind, what, low=low, high=high, **known)
    return field(default=default, metadata={'about': facts})


def about(record: type[TrainingSettings], name: str) -> Setting:
    """Return the facts about a setting."""
    known: Setting = record.__dataclass_fields__[name].metadata['about']
    return known


def _again(record: type[TrainingSettings], name: str, default: Any, **changes: Any) -> Any:  # noqa: ANN401 - a field
    """Return a field of a record with another default, and with some facts changed."""
    return field(default=default, metadata={'about': about(record, name)._replace(**changes)})


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """
    Settings of a training. ``None`` means that training chooses from the data, or as below.

    As ``pathlib.Path`` makes a path of its system, ``TrainingSettings(method=..., ...)`` makes the
    record of the method: `RouteSettings` without one (see ``route``), `SpectralSettings` (see
    ``hse_hmm``), `TpsrSettings` (see `RouteTpsr`) or `PaperSettings`. `FIELDS` has all settings.
    Raises ``InputError`` if a value is out of range or the method has no such setting.
    """

    method: str = setting(
        METHODS[0],
        str,
        'route: probabilities of the places on the route; spectral: spectral filter of the '
        'papers, with guards; tpsr: incremental SVD of random features (paper of 2011); paper: '
        'spectral as printed in the paper of 2012',
        choices=METHODS,
        option='method',
    )
    rate_hz: float | None = setting(
        None,
        float,
        'ticks per second',
        usual='20 or the IMU rate, whichever is less; `train` tests other rates and takes one if '
        'its held-out error is less',
        between=(0.1, 1000.0),
        units='Hz',
        letter='HZ',
        option='rate',
    )
    window: int | None = setting(
        None,
        int,
        'ticks in a window',
        usual='three seconds; longer if held-out errors are less',
        between=(2, 100_000),
        units='ticks',
        letter='TICKS',
        option='window',
    )
    states: int | None = setting(
        None, int, 'dimension of the state', between=(2, 1000), letter='K', option='states'
    )
    horizons: tuple[int, ...] = setting(
        HORIZONS,
        int,
        'ticks ahead to predict, 0 first; if `train` chooses a faster rate, the horizons stay the '
        'same in seconds',
        units='ticks',
        letter='TICKS,...',
        option='horizons',
    )

    def __new__(cls, *, method: str = '', **given: Any) -> TrainingSettings:  # noqa: ANN401, PYI034
        """Return an empty record of the method, if it has all that is given."""
        if cls is TrainingSettings:
            method = method or METHODS[0]
            if method not in RECORDS:
                raise InputError(f'method is {method}, but must be one of {", ".join(METHODS)}')
            cls = RECORDS[method]  # noqa: PLW0642 - as pathlib.Path does
        missing = given.keys() - cls.names()
        if missing and missing <= FIELDS.keys():
            having = [name for name, each in RECORDS.items() if given.keys() <= each.names()]
            other = f', or choose method {" or ".join(having)}' if having else ''
            msg = f'method {method} has no {", ".join(sorted(missing))}: leave it out{other}'
            raise InputError(msg)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check every value."""
        for each in fields(self):
            value, known = getattr(self, each.name), about(type(self), each.name)
            if each.name == 'horizons' or (value is None and each.default is None):
                continue
            if not known.allows(value):
                wanted = f'with method {self.method} it must be {known.allowed}'
                raise InputError(f'{each.name} is {value}, but {wanted}')
        ahead = self.horizons
        if not ahead or ahead[0] != 0 or list(ahead) != sorted(set(ahead)):
            msg = f'horizons {",".join(map(str, ahead))!r} must start with 0 and increase'
            raise InputError(msg)

    @classmethod
    def names(cls) -> set[str]:
        """Return the names of all settings."""
        return set(cls.__dataclass_fields__)

    def times_the_rate(self, factor: float, native_hz: float) -> Self | None:
        """
        Return complete settings at another rate, window and horizons as long in seconds.

        ``None`` if an IMU of ``native_hz`` is not that fast, or a horizon or window is no number
        of ticks.
        """
        rate_hz = factor * (self.rate_hz or 0.0)
        window = round(factor * (self.window or 0))
        ticks = [factor * horizon for horizon in self.horizons]
        whole = all(tick.is_integer() for tick in ticks)
        # An IMU a little slower than its nominal rate still has it.
        if not (whole and rate_hz <= 1.05 * native_hz and window > 1):
            return None
        return replace(self, rate_hz=rate_hz, window=window, horizons=tuple(map(int, ticks)))

    def at_one_rate(self) -> Self:
        """Return the settings of a training that tries no faster rate."""
        changes: dict[str, Any] = {'max_step_load': 0.0} if 'max_step_load' in self.names() else {}
        return replace(self, **changes)

    def with_method(self, method: str, **changes: Any) -> TrainingSettings:  # noqa: ANN401
        """Return the record of a method with what it has in common, unless it settles that."""
        record, own = RECORDS[method], {each.name: each.default for each in fields(self)}
        common = {
            each.name: getattr(self, each.name)
            for each in fields(record)
            if each.name != 'method' and own.get(each.name, MISSING) == each.default
        }
        return record(**common | changes)

    @property
    def imputes_positions(self) -> bool:
        """True if positions are estimated where none is known."""
        return getattr(self, 'readout', None) == 'mkdr'


@dataclass(frozen=True, kw_only=True)
class EmbeddedSettings(TrainingSettings):
    """Settings of the two methods that embed windows on manifolds."""

    kernel: str = setting(
        KERNELS[0],
        str,
        'manifold learner that turns windows into coordinates',
        choices=KERNELS,
        option='kernel',
    )
    coupling: str = setting(
        COUPLINGS[0], str, 'how past and future are coupled', choices=COUPLINGS, option='coupling'
    )
    neighbours: int | None = setting(
        None,
        int,
        'neighbours of a window, for kernels with a graph of neighbours',
        between=(2, 10_000),
        letter='N',
    )
    dimension: int = setting(100, int, 'coordinates of each embedding', between=(2, 10_000))
    readout: str | None = setting(
        None,
        str,
        'how a state becomes a position; mkdr also estimates the missing positions of the '
        'training, with method route too',
        usual='mkdr if few ticks have a position, else sharpened',
        choices=READOUTS,
        option='readout',
    )

    @property
    def guarded(self) -> bool:
        """True unless the spectral filter runs as the papers print it."""
        return getattr(self, 'guards', GUARDS[0]) == GUARDS[0]


@dataclass(frozen=True, kw_only=True)
class ObservingSettings(TrainingSettings):
    """Settings of the two methods that learn a kernel of observations."""

    clock: str = setting(
        CLOCKS[0],
        str,
        'driving: the state stands while the vehicle stands; time: it does not',
        choices=CLOCKS,
    )
    bandwidth_factor: float | None = setting(
        None,
        float,
        'bandwidth of the kernel of observations, in median distances between observations',
        between=(LEAST, 1e3),
    )
    ridge: float | None = setting(
        None,
        float,
        'ridge of observation ridge and of method tpsr, for features of mean square one',
        usual='chosen, with tpsr 1',
        between=(LEAST, 1e6),
    )


@dataclass(frozen=True, kw_only=True)
class RouteSettings(EmbeddedSettings):
    """Settings of method ``route``."""

    method: str = _again(TrainingSettings, 'method', 'route', choices=('route',))
    readout: str | None = _again(EmbeddedSettings, 'readout', None, choices=('sharpened', 'mkdr'))
    sharpness: float | None = setting(
        None,
        float,
        'exponent of the likelihood of an observation',
        usual='0.2 at 20 Hz, the same weight a second at other rates',
        between=(LEAST, 100.0),
    )
    persistence: float | None = setting(
        None,
        float,
        'weight of lasting deviations in the likelihood',
        usual='one over the ticks in the memory of the observations',
        between=(LEAST, 100.0),
    )
    max_step_load: float = setting(
        STEP_LOAD,
        float,
        'try a faster rate only if its ticks take less than this share of a core of a small '
        'robot; 0 tries none; without effect if rate, window, sharpness or persistence is given',
        usual='',
        between=(0.0, 1.0),
    )


@dataclass(frozen=True, kw_only=True)
class SpectralSettings(EmbeddedSettings, ObservingSettings):
    """Settings of method ``spectral``; without guards see mathematics, section 15."""

    method: str = _again(TrainingSettings, 'method', 'spectral', choices=('spectral',))
    observation: str = setting(
        OBSERVATIONS[0], str, 'observation operator', choices=OBSERVATIONS, option='observation'
    )
    guards: str = setting(
        GUARDS[0],
        str,
        'off: take every observation and never start again, as in the papers',
        choices=GUARDS,
        option='guards',
    )


@dataclass(frozen=True, kw_only=True)
class TpsrSettings(ObservingSettings):
    """Settings of method ``tpsr``."""

    method: str = _again(TrainingSettings, 'method', 'tpsr', choices=('tpsr',))
    features: int = setting(
        1000,
        int,
        'random features of a window; training time grows with D',
        between=(2, 1_000_000),
        letter='D',
        option='features',
    )
    window_features: str = setting(
        WINDOW_FEATURES[0],
        str,
        'features of a window; eigenmap: coordinates on a Laplacian eigenmap, with which a TPSR '
        'is an HSE-HMM',
        choices=WINDOW_FEATURES,
    )


@dataclass(frozen=True, kw_only=True)
class PaperSettings(SpectralSettings):
    """The slot car of Boots and Gordon (2012), with their ridge of 2011 and the constant."""

    method: str = _again(TrainingSettings, 'method', 'paper', choices=('paper',))
    states: int | None = _again(TrainingSettings, 'states', 21)
    neighbours: int | None = _again(EmbeddedSettings, 'neighbours', 50)
    coupling: str = _again(EmbeddedSettings, 'coupling', 'gram-product')
    readout: str | None = _again(EmbeddedSettings, 'readout', 'ridge')
    clock: str = _again(ObservingSettings, 'clock', 'time')
    bandwidth_factor: float | None = _again(ObservingSettings, 'bandwidth_factor', 1.0)
    ridge: float | None = _again(ObservingSettings, 'ridge', 1e-4)
    observation: str = _again(SpectralSettings, 'observation', 'ridge')
    guards: str = _again(SpectralSettings, 'guards', 'off')

    def spectral(self, **changes: Any) -> SpectralSettings:  # noqa: ANN401
        """Return the same settings as a record of method ``spectral``, some of them changed."""
        return SpectralSettings(**{**vars(self), 'method': 'spectral', **changes})


RECORDS: dict[str, type[TrainingSettings]] = {
    'route': RouteSettings,
    'spectral': SpectralSettings,
    'tpsr': TpsrSettings,
    'paper': PaperSettings,
}
"""Records by method, in the order of ``METHODS``."""


class Offered(NamedTuple):
    """A setting: the facts about it, and its default with each method that has it."""

    about: Setting
    defaults: dict[str, Any]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that have it."""
        return tuple(self.defaults)

    @property
    def default(self) -> Any:  # noqa: ANN401 - of any setting
        """The default with all methods but paper."""
        return next(iter(self.defaults.values()))

    @property
    def settled(self) -> str:
        """What paper settles otherwise, in words; empty if nothing."""
        paper = self.defaults.get('paper', self.default)
        return '' if paper == self.default else f'{paper} with method paper'

    @property
    def of_methods(self) -> str:
        """The methods in words; paper has what spectral has."""
        if len(self.methods) == len(METHODS):
            return 'every method'
        return f'method {" or ".join(each for each in self.methods if each != "paper")}'


def _offered() -> dict[str, Offered]:
    found: dict[str, Offered] = {}
    for method, record in RECORDS.items():
        for each in fields(record):
            known = about(record, each.name)
            before = found.get(each.name, Offered(known, {}))
            choices = max(before.about.choices, known.choices, key=len)
            found[each.name] = Offered(
                before.about._replace(choices=choices), {**before.defaults, method: each.default}
            )
    methods = Offered(about(TrainingSettings, 'method'), dict.fromkeys(METHODS, METHODS[0]))
    return found | {'method': methods}


FIELDS = _offered()
"""All settings by name."""
