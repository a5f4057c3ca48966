# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exceptions for input that a user can mend, and for a missing optional library."""

from __future__ import annotations

from contextlib import contextmanager
from errno import ENAMETOOLONG
from typing import NoReturn, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class InputError(ValueError):
    """
    Input that cannot be used.

    The message is one readable sentence naming the file or topic, the cause and the cure. The
    command line prints it and exits with status 2; a node logs it and stays unconfigured.
    """


class UnfitError(ValueError):
    """Error about the content of a file, worded as the middle of a sentence."""


def refuse(cause: str) -> NoReturn:
    """Raise the ``UnfitError`` of a cause."""
    raise UnfitError(cause)


def of_system(path: str | Path | None, said: str, error: OSError, cure: str) -> InputError:
    """
    Return the sentence about a file with which the system does not do what it should.

    Parameters
    ----------
    path
        Of the file; the one that the error names if ``None``.
    said
        What was not done.
    error
        Of the system.
    cure
        What to do about it, unless the name is too long.

    """
    cure = 'a name has 255 bytes at most' if error.errno == ENAMETOOLONG else cure
    cause = error.strerror or error
    return InputError(f'{path or error.filename}: {said} ({cause}); {cure}')


def in_words(error: BaseException) -> BaseException:
    """Return an error of the system about a file as a sentence, and any other as it is."""
    if not isinstance(error, OSError) or error.filename is None:
        return error
    cure = 'compare it with what is there, and look at the permissions'
    return of_system(None, 'the system refuses it', error, cure)


BAD_INPUT = 2
"""Exit status of a command for input that it cannot use, as argparse has it."""

NO_USE = 3
"""Exit status of `two-manifold train` and `trainer_node` where a model would be of no use."""


@contextmanager
def bags_wanted() -> Iterator[None]:
    """
    Guard imports of a library that reads or writes bags.

    Raises
    ------
    InputError
        If it is missing; the sentence says how to install one.

    """
    try:
        yield
    except ModuleNotFoundError as error:
        msg = (
            f'Bags cannot be read or written: neither rosbags nor rosbag2_py can be imported '
            f'({error.name} is missing). Source the setup file of ROS 2, which has rosbag2_py, or '
            f'install what needs no ROS with pip install rosbags mcap.'
        )
        raise InputError(msg) from error
