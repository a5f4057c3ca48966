# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compile hot loops with numba, once for all processes of a user.

Numba's own files keep the code. Numba does not see that a function in another file changed, so the
folder is named by the digest of all sources; and the files are pickles, so a folder that another
user could write to is not used.

No threads (numba's default threading layer aborts the process when two threads enter it), and a
fastmath set that keeps NaN and infinity visible.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
import gc
import grp
import hashlib
import io
import logging
import os
from pathlib import Path
import pickle
import pwd
import shutil
import stat
import sys
from typing import Any, TypeVar

from two_manifold_ros.errors import InputError

try:
    import llvmlite
    from llvmlite import binding
    import numba
    from numba.core import caching
    from numba.core.compiler import CompileResult
    from numba.core.environment import Environment, lookup_environment
    from numba.core.runtime.nrt import rtsys
    from numba.core.serialize import dumps
# One that does not go with NumPy or with this machine raises almost anything.
except Exception as error:
    missing = isinstance(error, ModuleNotFoundError) and error.name == 'numba'
    cause = 'is not installed' if missing else f'cannot be loaded ({error})'
    raise InputError(
        f'The Python package numba, which compiles the filters, {cause}: install it with '
        "'apt install python3-numba' or 'pip install numba'."
    ) from error

Function = TypeVar('Function', bound='Callable[..., Any]')

FASTMATH = frozenset({'nsz', 'arcp', 'contract', 'afn', 'reassoc'})

GENERATIONS = 8
"""Folders of compiled code to keep, the last used ones, of 4 MB each: one for each checkout."""


def cache_folder() -> Path | None:
    """Return the folder for what can be computed again, TWO_MANIFOLD_CACHE or of XDG, if any."""
    if given := os.environ.get('TWO_MANIFOLD_CACHE', ''):
        return Path(given).absolute()
    base = Path(os.environ.get('XDG_CACHE_HOME', ''))
    # Without a home there is none.
    with suppress(RuntimeError):
        return (base if base.is_absolute() else Path.home() / '.cache') / 'two_manifold_ros'
    return None


def digest_of(package: Path) -> str:
    """Return a name for the sources of a package, the libraries, Python and numba's options."""
    sources = sorted(package.rglob('*.py'))
    if not sources:
        raise OSError('its sources are not installed')
    options = sorted(item for item in os.environ.items() if item[0].startswith('NUMBA_'))
    libraries = numba.__version__, llvmlite.__version__, binding.llvm_version_info
    digest = hashlib.sha256(repr((sys.version, libraries, options)).encode())
    for path in sources:
        digest.update(f'{path.relative_to(package)} {path.stat().st_size}\n'.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def open_folder(folder: Path) -> None:
    """Create a folder; raise ``OSError`` if another user could write to it or replace it."""
    places = (folder, *folder.parents)
    for place in reversed(places):
        # One by one: parents that mkdir() makes on the way get the umask, by which on Ubuntu the
        # group could write to them.
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
    for place in places:
        status = place.stat()
        others = stat.S_IWOTH | (0 if _is_private_group(status.st_gid) else stat.S_IWGRP)
        # In a folder with the sticky bit, as /tmp, no user can replace files of another user.
        is_open = status.st_mode & others and not status.st_mode & stat.S_ISVTX
        if is_open or status.st_uid not in {0, os.geteuid()}:
            raise OSError(
                f'other users could write to {place}, which holds code that this one would run: '
                'set TWO_MANIFOLD_CACHE to a folder of its own'
            )


def _is_private_group(number: int) -> bool:
    """Return whether a group has one member, this user, as Debian makes one for each user."""
    with suppress(KeyError):
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
        return group.gr_name == user.pw_name and not set(group.gr_mem) - {user.pw_name}
    return False


class Store:
    """The folder of compiled code, or ``None``, and then the trouble why, with its cure."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.trouble = 'this user has no home, set TWO_MANIFOLD_CACHE to a folder of its own'
        base = cache_folder()
        if base is None:
            return
        try:
            # Resolved, so that the checked path is the one used, through any link on the way.
            folder = base.resolve() / 'compiled' / digest_of(Path(__file__).parent)
            open_folder(folder)
        except OSError as error:
            self.give_up(error, base)
            return
        self.folder, self.trouble = folder, ''
        # A folder that cannot be written to is read.
        with suppress(OSError):
            os.utime(folder)
            ages = {each.stat().st_mtime: each for each in folder.parent.glob(24 * '[0-9a-f]')}
            for age in sorted(ages)[:-GENERATIONS]:
                shutil.rmtree(ages[age], ignore_errors=True)

    def give_up(self, error: OSError, place: Path) -> None:
        """Keep nothing from now on, for what the system says."""
        self.folder, self.trouble = None, str(error)
        if error.strerror:
            self.trouble = (
                f'nothing can be kept in {place} ({error.strerror}), set TWO_MANIFOLD_CACHE to a '
                'folder that can be written to'
            )

    @cache  # noqa: B019 - there is one
    def warn(self) -> None:
        """Say once that nothing is kept."""
        logging.getLogger('two_manifold_ros').warning(
            'Loops are compiled again by every process, which takes seconds: %s.', self.trouble
        )


STORE = Store()


class _Kept(caching.FunctionCache):
    """
    Numba's cache of one function, in our folder.

    Numba's own raises on a full disk or a file that was cut off, gives the code of another
    signature if two processes wrote an index at once, and links callers with other code when it
    has compiled than when it has read, which changes their last bits.
    """

    def __init__(self, function: Callable[..., Any], *, allocates: bool) -> None:
        self._py_func, self._allocates = function, allocates
        name = f'{function.__module__}.{function.__qualname__}'
        self._cache_file = caching.IndexDataCacheFile(str(STORE.folder), name, source_stamp=None)

    def load_overload(self, signature: object, context: Any) -> Any:  # noqa: ANN401 - numba's
        """Return the compiled function of a signature, or nothing if it has to be compiled."""
        try:
            if STORE.folder is not None:
                key = self._index_key(signature, context.codegen())
                checksum, payload = self._cache_file.load(key) or ('', b'')
                if checksum == _seal(key, payload):
                    # Numba's loads all that a compilation needs, 27 MB; what counts references is
                    # compiled for what allocates alone, 20 MB.
                    if self._allocates:
                        rtsys.initialize(context)
                    parts = _Unpickler(io.BytesIO(payload)).load()
                    return CompileResult._rebuild(context, *parts)  # noqa: SLF001
        # What is left of a pickle raises almost anything; an index that is damaged is begun again.
        except Exception:  # noqa: BLE001
            with suppress(OSError):
                self.flush()
        # The compiler makes millions of objects: a ninth of the time garbage is looked for.
        gc.set_threshold(max(gc.get_threshold()[0], 10_000))
        return None

    def save_overload(self, signature: object, result: Any) -> None:  # noqa: ANN401 - numba's
        """Keep a compiled function."""
        library = result.library
        # A caller is optimised together with this code, and its last bits depend on whether that
        # came from the compiler or from bitcode as it is kept: so it is always from bitcode.
        bitcode = library._get_module_for_linking().as_bitcode()  # noqa: SLF001
        library._shared_module = binding.parse_bitcode(bitcode)  # noqa: SLF001
        # With dynamic globals it holds addresses of this process.
        if STORE.folder is not None and not library.has_dynamic_globals:
            key, payload = self._index_key(signature, result.codegen), dumps(result._reduce())  # noqa: SLF001
            try:
                self._cache_file.save(key, (_seal(key, payload), payload))
            except OSError as error:
                STORE.give_up(error, STORE.folder)
        if STORE.folder is None:
            STORE.warn()


class _Unpickler(pickle.Unpickler):
    """Read compiled code without the modules that its parts were written in."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as the base has it
        # Another numba may keep them otherwise, and rebuild them itself.
        if name == '_rebuild_env' and hasattr(Environment, '_memo'):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[object], name: str) -> Any:  # noqa: ANN401 - numba's
    """Return what a compiled function finds its constants in, as numba, without its modules."""
    # Numba imports them for globals that only interpreted code reads: SciPy, 25 MB.
    found = lookup_environment(name)
    if found is None:
        known = sys.modules.get(module)
        found = Environment({'__name__': module} if known is None else vars(known))
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found  # noqa: SLF001
    return found


def _seal(key: object, payload: bytes) -> str:
    return hashlib.sha256(repr(key).encode() + payload).hexdigest()


def _kind(**options: Any) -> Callable[[Function], Function]:  # noqa: ANN401 - numba's
    """Return a decorator that compiles a function when it is first called, or reads it."""
    # Without what counts references (``_nrt``) a compilation takes a tenth less.
    options = {'fastmath': set(FASTMATH), 'no_cfunc_wrapper': True, **options}

    def compiling(function: Function) -> Function:
        fast: Any = numba.njit(**options)(function)
        # With NUMBA_DISABLE_JIT, for debuggers, it is the function itself.
        if fast is not function:
            # What its enable_caching() sets.
            fast._cache = _Kept(function, allocates=options.get('_nrt', True))  # noqa: SLF001
        result: Function = fast
        return result

    return compiling


allocating = _kind()
"""For a function that makes arrays: none that a tick calls. All others fill those given."""

compiled = _kind(_nrt=False)
"""For a function that Python calls."""

unlocked = _kind(_nrt=False, nogil=True)
"""For a function that several threads of Python run at once."""

subroutine = _kind(_nrt=False, forceinline=True, no_cpython_wrapper=True)
"""For a function that compiled ones call, and Python cannot: it compiles in half the time."""

shared = _kind(_nrt=False, forceinline=True)
"""For a function that Python and compiled ones call, inlined, or one loaded before is taken."""

exact = _kind(_nrt=False, forceinline=True, fastmath=False)
"""For a function that is shared, and gives the bits that Python would give."""
