# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compile hot loops with numba, once for all processes of a user.

Compiled code is kept in a folder of the user, a file for each function and signature. A file is
written whole or not at all and carries its checksum, so processes that compile at the same time,
a power cut or a full disk cost a compilation and nothing else. Files are pickles: a folder that
others could write to is not used. Sources, libraries, Python and the processor are in the name of
the folder, because numba itself does not see that a function in another file changed.

No threads (numba's default threading layer aborts the process when two threads enter it), and a
fastmath set that keeps NaN and infinity visible.
"""

from __future__ import annotations

from contextlib import suppress
import gc
import grp
import hashlib
import logging
import os
from pathlib import Path
import pickle
import platform
import pwd
import re
import shutil
import stat
import sys
from typing import Any, TYPE_CHECKING, TypeVar

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    import llvmlite
    from llvmlite import binding
    import numba
    from numba.core.compiler import CompileResult
    from numba.core.runtime.nrt import rtsys
    from numba.core.serialize import dumps
# One that does not go with NumPy or with this machine raises almost anything.
except Exception as error:
    missing = isinstance(error, ModuleNotFoundError) and error.name == 'numba'
    cause = 'is not installed' if missing else f'cannot be loaded ({error})'
    msg = (
        f'The Python package numba, which compiles the filters, {cause}: install it with '
        "'apt install python3-numba' or 'pip install numba'."
    )
    raise InputError(msg) from error

Function = TypeVar('Function', bound='Callable[..., Any]')

FASTMATH = frozenset({'nsz', 'arcp', 'contract', 'afn', 'reassoc'})

GENERATIONS = 8
"""
Folders of compiled code to keep, the last used ones, of 4 MB each.

A robot needs two, an upgrade and the way back; a developer one for each checkout. With fewer,
checkouts that take turns compile again; with more, only disk is lost.
"""


def cache_folder() -> Path | None:
    """
    Return the folder of this user for what can be computed again, if there is one.

    ``TWO_MANIFOLD_CACHE``, or else the one that the system prescribes (XDG).
    """
    if given := os.environ.get('TWO_MANIFOLD_CACHE', ''):
        return Path(given).absolute()
    base = Path(os.environ.get('XDG_CACHE_HOME', ''))
    if not base.is_absolute():
        try:
            base = Path.home() / '.cache'
        except RuntimeError:
            return None
    return base / 'two_manifold_ros'


def digest_of(package: Path) -> str:
    """Return a name for all that compiled code depends on, among it every source of a package."""
    sources = sorted(package.rglob('*.py'))
    if not sources:
        msg = 'its sources are not installed'
        raise OSError(msg)
    digest = hashlib.sha256()
    for path in sources:
        digest.update(f'{path.relative_to(package)} {path.stat().st_size}\n'.encode())
        digest.update(path.read_bytes())
    triple, cpu, features = numba.core.registry.cpu_target.target_context.codegen().magic_tuple()
    options = sorted(item for item in os.environ.items() if item[0].startswith('NUMBA_'))
    libraries = numba.__version__, llvmlite.__version__, binding.llvm_version_info
    machine = triple, cpu, features, platform.machine(), sys.version, libraries, options
    digest.update(repr(machine).encode())
    return digest.hexdigest()[:24]


def open_folder(folder: Path) -> None:
    """
    Create a folder that only this user can write to.

    Raises
    ------
    OSError
        If it cannot be made or read, or if another user could write to it or replace it.

    """
    # Whether it may be used is known before anything is made, and by whom.
    made = [place for place in (folder, *folder.parents) if place.exists()]
    _check_private(made[0], *made[0].parents)
    # One by one: parents that mkdir() makes on the way get the umask, by which on Ubuntu the group
    # could write to them.
    for place in reversed([each for each in (folder, *folder.parents) if each not in made]):
        # Another process of this user may start at the same time; whose it is, is seen below.
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
    _check_private(folder, *folder.parents)
    if not os.access(folder, os.W_OK | os.X_OK):
        msg = f'{folder} cannot be written to, remove it or set TWO_MANIFOLD_CACHE'
        raise OSError(msg)


def _check_private(*places: Path) -> None:
    """Raise ``OSError`` if another user could write to one of some folders."""
    for place in places:
        status = place.stat()
        others = status.st_mode & stat.S_IWOTH
        if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid):
            others = stat.S_IWGRP
        # In a folder with the sticky bit, as /tmp, no user can replace files of another user.
        if others and status.st_mode & stat.S_ISVTX:
            others = 0
        if others or status.st_uid not in {0, os.geteuid()}:
            msg = (
                f'other users could write to {place}, which holds code that this one would run: '
                'set TWO_MANIFOLD_CACHE to a folder of its own'
            )
            raise OSError(msg)


def _is_private_group(number: int) -> bool:
    """Return whether a group is that of this user alone, as Debian makes one for each user."""
    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and not set(group.gr_mem) - {user.pw_name}


def _remove_older(folder: Path) -> None:
    """Remove all but the folders that were used last."""
    with suppress(OSError):
        ours = [path for path in folder.iterdir() if re.fullmatch('[0-9a-f]{24}', path.name)]
        ours.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for other in ours[GENERATIONS:]:
            shutil.rmtree(other, ignore_errors=True)


class Store:
    """
    The folder of compiled code, or why there is none.

    Attributes
    ----------
    folder
        ``None`` if nothing is kept.
    trouble
        Why nothing is kept, and the cure; empty if it is.

    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.trouble = ''
        self._warned = False
        base = cache_folder()
        if base is None:
            self.trouble = 'this user has no home, set TWO_MANIFOLD_CACHE to a folder of its own'
            return
        try:
            # Resolved, so that the checked path is the one used, through any link on the way.
            folder = base.resolve() / 'compiled' / digest_of(Path(__file__).parent)
            open_folder(folder)
            os.utime(folder)
            self.folder = folder
        except OSError as error:
            self.trouble = str(error)
            if error.strerror:
                self.trouble = (
                    f'no folder for them can be made in {base} ({error.strerror}), set '
                    'TWO_MANIFOLD_CACHE to one that can'
                )
            return
        _remove_older(folder.parent)

    def write(self, name: str, payload: bytes) -> None:
        """Write a file whole or not at all; where it cannot be written, none is from now on."""
        if self.folder is not None:
            file = self.folder / f'.{name}.{os.getpid()}'
            try:
                file.write_bytes(hashlib.sha256(payload).digest() + payload)
                file.replace(self.folder / name)
            except OSError as error:
                with suppress(OSError):
                    file.unlink()
                self.folder, self.trouble = None, str(error)
        if self.folder is None and not self._warned:
            self._warned = True
            logging.getLogger('two_manifold_ros').warning(
                'Loops are compiled again by every process, which takes seconds: %s.', self.trouble
            )

    def read(self, name: str) -> bytes | None:
        """Return what was written, if it is there and whole."""
        if self.folder is None:
            return None
        try:
            with (self.folder / name).open('rb') as file:
                content = file.read()
                owner = os.fstat(file.fileno()).st_uid
        except OSError:
            return None
        # One that another user has left there, when the folder was open to all.
        if owner not in {0, os.geteuid()}:
            return None
        checksum, payload = content[:32], content[32:]
        return payload if hashlib.sha256(payload).digest() == checksum else None


STORE = Store()


class _Kept:
    """
    Cache of one compiled function; numba's dispatchers call these methods.

    It takes the place of numba's own, whose index is lost to a power cut and can point at the
    wrong file when two processes write it at once.
    """

    cache_path = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f'{function.__module__}.{function.__qualname__}'

    def _file(self, signature: object) -> str:
        return f'{self._name}.{hashlib.sha256(str(signature).encode()).hexdigest()[:24]}'

    def load_overload(self, signature: object, context: Any) -> Any:  # noqa: ANN401 - numba's
        """Return the compiled function of a signature, or nothing if it has to be compiled."""
        payload = STORE.read(self._file(signature))
        if payload is None:
            # The compiler makes millions of small objects, and hardly any garbage, which is looked
            # for after each 700 of them: that took an eighth of the time.
            gc.set_threshold(max(gc.get_threshold()[0], 10_000))
            return None
        # What code from disk needs of numba. All that a compilation needs, which a miss loads,
        # takes a third of a second and 27 MB, SciPy's linear algebra among it.
        rtsys.initialize(context)
        result = CompileResult._rebuild(context, *pickle.loads(payload))  # noqa: S301, SLF001
        # What a caller would be linked with, parsed; a process that compiles none never needs it.
        library = result.library
        bitcode = library._shared_module.as_bitcode()  # noqa: SLF001
        library._shared_module = None  # noqa: SLF001
        library._get_module_for_linking = lambda: binding.parse_bitcode(bitcode)  # noqa: SLF001
        return result

    def save_overload(self, signature: object, result: Any) -> None:  # noqa: ANN401 - numba's
        """Keep a compiled function."""
        library = result.library
        # A caller is optimised together with this code, and its last bits depend on whether that
        # came from the compiler or from bitcode as it is kept: so it is always from bitcode.
        bitcode = library._get_module_for_linking().as_bitcode()  # noqa: SLF001
        library._shared_module = binding.parse_bitcode(bitcode)  # noqa: SLF001
        # Otherwise it holds addresses of this process.
        if not library.has_dynamic_globals:
            STORE.write(self._file(signature), dumps(result._reduce()))  # noqa: SLF001

    def enable(self) -> None:
        """Do nothing: it is always on."""

    def disable(self) -> None:
        """Do nothing: it is always on."""

    def flush(self) -> None:
        """Do nothing: a file is replaced when its signature is compiled again."""


def compiled(function: Function) -> Function:
    """
    Compile a function when Python first calls it, or take it from disk.

    It allocates nothing: it fills arrays that it is given. Without what counts references a
    compilation takes a tenth less.
    """
    return _compiled(function, _nrt=False)


def unlocked(function: Function) -> Function:
    """Compile as `compiled` does a function that several threads of Python run at once."""
    return _compiled(function, _nrt=False, nogil=True)


def allocating(function: Function) -> Function:
    """Compile a function that makes arrays: none that a tick calls."""
    return _compiled(function)


def subroutine(function: Function) -> Function:
    """
    Compile a function when a compiled one calls it: Python cannot.

    What turns the arguments of Python into arrays takes half of the time that a compilation takes.
    """
    return _compiled(function, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def shared(function: Function) -> Function:
    """
    Compile a function that Python calls and compiled ones do.

    As subroutines it is inlined there. A function of its own among the code of its caller would
    give way to one of the same name that happens to be loaded already, with other last bits.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Function, **options: Any) -> Function:  # noqa: ANN401 - numba's
    options |= {'fastmath': set(FASTMATH), 'no_cfunc_wrapper': True}
    fast: Any = numba.njit(**options)(function)
    # With NUMBA_DISABLE_JIT, for debuggers, it is the function itself.
    if fast is not function:
        fast._cache = _Kept(function)  # noqa: SLF001 - what its enable_caching() sets
    result: Function = fast
    return result
