# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where bags are: on this disk, or in an object store or on a web server, which `fsspec` reads.

An address is a local path, or ``SCHEME://...``. A local path is left as it is, and no library is
loaded for it. A bag from elsewhere is copied to a temporary folder while it is read. What may be
secret in an address, as a password or a signature, is in nothing that is printed or kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from errno import EFBIG, ENOSPC
from glob import glob, has_magic
from itertools import accumulate
import logging
import os
from pathlib import Path, PurePath
import re
import sys
from tempfile import TemporaryDirectory
import threading
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Self

METADATA = 'metadata.yaml'
"""What makes a folder a rosbag2."""

COMPRESSED = ('.zstd', '.zst')

PARTS = ('.mcap', '.db3')
"""Files of a rosbag2; where a folder has no metadata they are parts of one bag, too."""

KINDS = (*PARTS, '.bag')
"""Files that are a bag on their own."""

UNMERGED = '-wal'
"""End of the name of a log with rows that SQLite did not yet put into its file."""

CONNECT_S, SILENT_S = 30.0, 120.0
"""Time for a web server to answer, and for it to send nothing; a whole copy may take any time."""

LARGEST_COPY = 100_000_000_000
"""Bytes of a copy at which it is given up, as an answer may never end: two hours with a camera."""

_TAGS = ('size', 'ETag', 'etag', 'LastModified', 'updated', 'Last-Modified')
"""What stores call the size of a file, and what changes with its content."""

_LIBRARIES = ('fsspec', 's3fs', 'gcsfs', 'asyncio')
# Bounded, as a search would else take the square of a long path.
_SCHEME = re.compile(r'[A-Za-z][A-Za-z0-9+.-]{0,99}://')
_CHAINED = re.compile(rf'::(?=[A-Za-z][A-Za-z0-9+.-]*::|{_SCHEME.pattern})')
"""Between protocols that read from each other, as in ``zip://a.mcap::https://host/all.zip``."""
_HOST = re.compile(r'(?:\[[^]]*\]|[^:]*)(?::[0-9]*)?')
_SECRET, _NAMED = re.compile('[?;#]'), re.compile(r'[?;#][\w.~%-]+=')
_STORES = ('s3://', 's3a://', 'gs://', 'gcs://', 'abfs://', 'abfss://', 'az://', 'adl://')


class _Address(str):
    """An address as it may be printed, with all of it in ``whole``; sent to workers as both."""

    __slots__ = ('whole',)
    whole: str

    def __new__(cls, whole: str) -> Self:
        made = super().__new__(cls, public(whole))
        made.whole = whole
        return made


def is_remote(address: str | Path) -> bool:
    """Return whether an address is no path on this disk."""
    return isinstance(address, str) and _SCHEME.search(address) is not None


def public(address: str | Path) -> str:
    """
    Return an address without what may be secret: user, password, query, parameters and fragment.

    Of one that no server could be asked for the scheme is left.
    """
    text = str(address)
    scheme = _SCHEME.search(text)
    if scheme is None:
        return text
    head, rest = text[: scheme.end()], text[scheme.end() :]
    host, slash, path = rest.partition('/')
    user, _, host = host.rpartition('@')
    if _SECRET.search(user) or ('@' in path and not _HOST.fullmatch(host)):
        return head
    rest = f'{host}{slash}{path}'
    # In object stores these signs may belong to a name, and a question mark to a glob.
    found = (_NAMED if head.lower().endswith(_STORES) else _SECRET).search(rest)
    rest = rest[: found.start()] if found else rest
    return head if _SCHEME.search(rest) else head + rest


def identity(address: str) -> str:
    """Return what all spellings of an address have in common; not to be printed or kept."""
    return getattr(address, 'whole', address) if is_remote(address) else os.path.realpath(address)


def storage_kind(file: PurePath) -> str:
    """Return the suffix that names the storage, without that of a compression."""
    return file.with_suffix('').suffix if file.suffix in COMPRESSED else file.suffix


def expand(addresses: Sequence[str]) -> list[str]:
    """
    Return the bags that addresses stand for, each as it may be printed and as `fetched` takes it.

    They are of bags, of folders with bags at any depth, or globs; a local path that is neither of
    the last two is returned as it is, whether there is a bag or not. Bags of one address are
    sorted, and none of them is there twice.
    """
    bags: list[str] = []
    listed = set(addresses)
    for address in addresses:
        remote = is_remote(address)
        found = _remote_bags(address) if remote else _local_bags(address)
        fresh = [_whole(address)] if found is None else sorted({*found} - (listed - {address}))
        listed.update(fresh)
        bags += map(_Address, fresh) if remote else fresh
    return bags


def only_bag(address: str) -> str:
    """Return the one bag that an address stands for, as `expand` does; several are refused."""
    bags = expand([address])
    if len(bags) > 1:
        msg = f'{public(address)} holds {len(bags)} bags, where one is needed: name one of them'
        raise InputError(msg)
    return bags[0]


def bags_among(files: Iterable[str]) -> list[str]:
    """Return the bags that all files of some folders belong to: none is within another."""
    parted = [file.rpartition('/')[::2] for file in files]
    whole = {folder for folder, name in parted if _makes_a_bag(name)}
    found: set[str] = set()
    for folder, name in parted:
        outer = next((each for each in _way_to(folder) if each in whole), None)
        if outer is not None:
            found.add(outer)
        elif storage_kind(PurePath(name)) in KINDS:
            found.add(f'{folder}/{name}')
    return sorted(found)


def _makes_a_bag(name: str) -> bool:
    return name == METADATA or storage_kind(PurePath(name)) in PARTS


def _way_to(folder: str) -> Iterator[str]:
    """Yield all folders around one, and itself at the end."""
    return accumulate(folder.split('/'), lambda outer, name: f'{outer}/{name}')


def _local_bags(address: str) -> list[str] | None:
    """Return the bags below a folder that is none, or those of a glob; else ``None``."""
    # A folder that may not be looked into is named by whoever reads it.
    if os.path.isdir(address):  # noqa: PTH112 - of Python 3.10 to 3.13, a path raises
        found = bags_among(_files_below(address))
        return None if not found or (address.rstrip('/') or '/') in found else found
    if not has_magic(address) or os.path.exists(address):  # noqa: PTH110 - as above
        return None
    matches = {match: Path(match).is_dir() for match in glob(address, recursive=True)}  # noqa: PTH207 - in their spelling
    return _matching(address, matches, _files_below)


def _files_below(folder: str) -> Iterator[str]:
    seen: set[str] = set()
    for root, folders, names in os.walk(folder, followlinks=True):
        # A link may lead to a folder around it.
        seen.add(os.path.realpath(root))
        folders[:] = [each for each in folders if os.path.realpath(f'{root}/{each}') not in seen]
        # As they are spelt: a path would lose a leading dot.
        yield from (f'{root.rstrip("/")}/{name}' for name in names)


def _matching(
    address: str, matches: Mapping[str, bool], files_below: Callable[[str], Iterable[str]]
) -> list[str]:
    """Return the bags among what a glob matches, of which folders have a true value."""
    found: set[str] = set()
    for match, is_folder in matches.items():
        if is_folder:
            found.update(bags_among(files_below(match)))
        elif storage_kind(PurePath(match)) in KINDS:
            found.add(match)
    # A pattern for any depth matches a bag, and its files.
    bags = [each for each in found if found.isdisjoint(_way_to(each.rpartition('/')[0]))]
    if not bags:
        raise InputError(
            f'{public(address)}: no bag is there: compare it with where the bags are, rosbag2 '
            f'folders or {", ".join(KINDS)} files'
        )
    return bags


def _remote_bags(address: str) -> list[str] | None:
    """Return the bags of a folder or of a glob elsewhere; ``None`` for the file of one bag."""
    whole = _whole(address)
    scheme, place = whole.split('://', 1)
    path = place.partition('/')[2]
    # In addresses of web servers a question mark begins a query, and brackets are no pattern.
    magic = '*' in path.partition('?')[0] if scheme in {'http', 'https'} else has_magic(path)
    if not magic and storage_kind(PurePath(public(whole))) in KINDS:
        return None
    with _in_words(address):
        store, root = _store(whole)
        matches = {root: True}
        if magic:
            infos = store.glob(root, detail=True)
            matches = {name: info['type'] == 'directory' for name, info in infos.items()}
        found = _matching(address, matches, store.find)
    return [store.unstrip_protocol(each) for each in found]


_held = threading.local()
"""Its ``places`` are the copies that are there while the thread reads them, by whole address."""


@contextmanager
def fetched(address: str | Path) -> Iterator[Path]:
    """
    Have a bag on this disk: a local path as it is, else a copy, which is removed at the end.

    Within another context of the same address its copy is taken. Sentences of ``InputError`` and
    ``OSError`` that come from inside name the address instead of the copy.
    """
    if not is_remote(address):
        yield Path(address)
        return
    whole = _whole(address)
    places: dict[str, Path] = vars(_held).setdefault('places', {})
    if whole in places:
        yield places[whole]
        return
    own = None
    # The folder of a worker of Dask, if this is one, is removed even if the worker is killed.
    with suppress(KeyError, ValueError):
        own = sys.modules['distributed'].get_worker().local_directory
    # A library may still be writing into it when a signal ends the copy.
    with TemporaryDirectory(prefix='two_manifold_', dir=own, ignore_cleanup_errors=True) as folder:
        with _in_words(whole):
            place = _copy(whole, Path(folder))
        places[whole] = place
        try:
            yield place
        except (InputError, OSError) as error:
            text = named(str(error), place, whole)
            if text == str(error):
                raise
            raise InputError(text) from None
        finally:
            del places[whole]


def remote_state(address: str) -> str:
    """Return sizes and tags of the files of a bag elsewhere, by which it is known again, or ''."""
    with suppress(InputError), _in_words(address):
        store, path = _store(_whole(address))
        info = store.info(path)
        is_folder = info['type'] == 'directory'
        files = store.find(path, detail=True).values() if is_folder else [info]
        return ' '.join(sorted(f'{each.get(tag)}' for each in files for tag in _TAGS))
    return ''


def named(text: str, place: Path, address: str | Path) -> str:
    """Return a sentence with the address of a bag where it names the copy."""
    return text.replace(str(place), public(address)) if is_remote(address) else text


def _whole(address: str | Path) -> str:
    whole = address.whole if isinstance(address, _Address) else str(address)
    return _SCHEME.sub(lambda scheme: scheme[0].lower(), whole, count=1)


def _copy(whole: str, folder: Path) -> Path:
    """Copy a bag into a folder, and return where it is."""
    from fsspec.callbacks import Callback  # noqa: PLC0415 - an extra

    def bound(size: int | None, value: int, **_: object) -> None:
        if max(value, size or 0) > LARGEST_COPY:
            raise OSError(EFBIG, 'larger than it may be')

    store, path = _store(whole)
    bounded = Callback(hooks={'bound': bound})
    name = public(whole).rstrip('/').rpartition('/')[2]
    place = folder / (name if name.strip('.') else 'bag')
    if storage_kind(place) in KINDS:
        # It may be a folder with such a name.
        with suppress(FileNotFoundError):
            store.get_file(path, str(place), callback=bounded)
            return place
        place.unlink(missing_ok=True)
    names = {each.rpartition('/')[2]: each for each in store.ls(path, detail=False)}
    parts = [name for name in names if _makes_a_bag(name.removesuffix(UNMERGED))]
    if not parts:
        raise FileNotFoundError(whole)
    place.mkdir()
    for name in parts:
        store.get_file(names[name], str(place / name), callback=bounded)
    return place


def _store(whole: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra

    if _CHAINED.search(whole):
        # They write where they like.
        raise ValueError('Protocol not known: chained')
    # By default a store holds ten parts of 50 MB in memory.
    settings: dict[str, Any] = {'max_concurrency': 1} if whole.startswith('s3://') else {}
    if whole.startswith(('http://', 'https://')):
        from aiohttp import ClientTimeout  # noqa: PLC0415 - an extra

        # By default a copy ends after five minutes.
        timeout = ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENT_S)
        settings = {'client_kwargs': {'timeout': timeout}}
    for library in _LIBRARIES:
        # Or Python prints their tracebacks where nobody has set up logging.
        if not logging.getLogger(library).handlers:
            logging.getLogger(library).addHandler(logging.NullHandler())
    store, path = url_to_fs(whole, **settings)
    # Listings are kept for the time of the process.
    store.invalidate_cache()
    return store, path


@contextmanager
def _in_words(address: str) -> Iterator[None]:
    """Turn any error of a library into one sentence that names an address."""
    try:
        yield
    except InputError:
        raise
    # Each store has errors of its own, which come as many types.
    except Exception as error:  # noqa: BLE001
        # Not from it: the words of libraries hold the whole address.
        raise InputError(f'{public(_whole(address))}: {_reason(error)}') from None


_REASONS = {
    'credential|forbidden|unauthorized|permission|refresh|status 40[13]': (
        'access is refused: check the credentials that the library of the store finds on this '
        'machine, and what they allow'
    ),
    'connect|timeout|payload|dns|proxy': (
        'the connection fails or breaks: check the network, the address, and the endpoint if set'
    ),
    'filenotfound': 'it does not exist: check the address, its bucket or server included',
    f'number {EFBIG}$': f'it is larger than {LARGEST_COPY / 1e9:g} GB: copy it by hand',
    f'number {ENOSPC}$': 'a copy has no room: free some, or set TMPDIR to a folder that has',
    '^valueerror protocol': 'such addresses are not known: give s3://, gs://, https:// or a path',
}
"""Cause and cure by what is in the words of `_reason`; the first that fits counts."""


def _reason(error: Exception) -> str:
    """Return cause and cure in words of our own."""
    chain = [error, *filter(None, (error.__cause__, error.__context__))]
    if isinstance(error, ImportError):
        package = next(filter(None, (getattr(each, 'name', None) for each in chain)), 'fsspec')
        return (
            f'such addresses need the Python package {package}: install it with pip install '
            f"{package}, or all that they need with pip install '.[remote]' in the checkout"
        )
    # A status is a number, or in the first characters of a message; the rest may be an address.
    numbers = [getattr(each, name, None) for each in chain for name in ('status', 'code')]
    status = next((f'status {each}' for each in numbers if each and isinstance(each, int)), '')
    words = ' '.join([*(type(each).__name__ for each in chain), str(error)[:10], status])
    words = f'{words} number {getattr(error, "errno", 0)}'.lower()
    other = f'it cannot be read ({status or type(error).__name__}): try again, or copy it by hand'
    return next((reason for part, reason in _REASONS.items() if re.search(part, words)), other)
