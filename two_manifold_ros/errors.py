# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exceptions for input that a user can mend, and for a missing optional library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from errno import ENAMETOOLONG
from pathlib import Path
import re
import traceback
from typing import NoReturn

BAD_INPUT = 2
"""Exit status of a command for input that it cannot use, as argparse has it."""

NO_USE = 3
"""Exit status of training a model of no use, and of an evaluation that publishes nothing."""


class InputError(ValueError):
    """
    Input that cannot be used.

    The message is one readable sentence naming the file or topic, the cause and the cure. The
    command line prints it and exits with its status; a node logs it and stays unconfigured.
    """

    status = BAD_INPUT


class NoUseError(InputError):
    """A model of no use for this input: nothing would be published."""

    status = NO_USE


def why_it_fails(work: Callable[[], object]) -> tuple[str, str]:
    """Do something; return why it could not be done, and the traceback of a bug, or two ''."""
    try:
        work()
    except InputError as error:
        return str(error), ''
    # In a thread a bug would end unseen.
    except Exception as error:  # noqa: BLE001 - reported in log and diagnostics
        return f'{type(error).__name__}, please report it: {error}', traceback.format_exc()
    return '', ''


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """
    Return a hint such as ``' (did you mean --until?)'``; empty if nothing is near.

    A word of the two that differs has to be near, so that ``position_topic`` is no ``mark_topic``.
    """
    # Commands that need no hint start without it.
    from difflib import get_close_matches  # noqa: PLC0415

    words = set(re.split('[-_]', given))
    for near in get_close_matches(given, list(known), 3):
        other = set(re.split('[-_]', near))
        if all(get_close_matches(each, other - words, 1) for each in words - other):
            return f' (did you mean {near}?)'
    return ''


class UnfitError(ValueError):
    """Error about the content of a file, worded as the middle of a sentence."""


def refuse(cause: str) -> NoReturn:
    """Raise the ``UnfitError`` of a cause."""
    raise UnfitError(cause)


def of_system(path: str | Path | None, said: str, error: OSError, cure: str) -> InputError:
    """
    Return the sentence about a file, or the one that the error names, of what was not done.

    The cure is said unless the name is too long.
    """
    cure = 'a name has 255 bytes at most' if error.errno == ENAMETOOLONG else cure
    cause = error.strerror or error
    return InputError(f'{path or error.filename}: {said} ({cause}); {cure}')


def in_words(error: BaseException) -> BaseException:
    """Return an error of the system about a file as a sentence, and any other as it is."""
    if not isinstance(error, OSError) or error.filename is None:
        return error
    cure = 'compare it with the files there, and look at the permissions'
    return of_system(None, 'the system refuses it', error, cure)


@contextmanager
def bags_wanted(*, to_write: bool = False) -> Iterator[None]:
    """Guard imports of a library that reads, or writes, bags: say how to install one."""
    try:
        yield
    except ModuleNotFoundError as error:
        lacking = 'read: neither rosbags nor rosbag2_py can'
        cure = 'Source the setup file of ROS 2, which has rosbag2_py, or install'
        if to_write:
            lacking, cure = 'written: rosbags cannot', 'Install'
        raise InputError(
            f'Bags cannot be {lacking} be imported ({error.name} is missing). {cure} rosbags, '
            'which needs no ROS, with pip install rosbags.'
        ) from error
