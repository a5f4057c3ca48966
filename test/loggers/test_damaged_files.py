# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever bytes a file has, it is read or refused in one sentence that names it."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
import warnings

from hypothesis import given, settings
from hypothesis import strategies as st
from logger_files import drive, WRITERS
import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.to_bag import drive_of

ODD = (b'', b',', b' ', b'-', b'1e400', b'99999999999', b'[data]', b'"', b'\xff', b'nan', b'\n')


@cache
def content_of(name: str) -> bytes:
    """Return a file of a format."""
    writer, file = WRITERS[name]
    with TemporaryDirectory() as folder:
        return writer(Path(folder) / file, drive(3.0)).read_bytes()


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(WRITERS)),
    st.lists(
        st.tuples(
            st.floats(0, 1), st.integers(0, 12), st.sampled_from(ODD) | st.binary(max_size=4)
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_damaged_files_are_read_or_refused(name, changes):
    content = content_of(name)
    for where, cut, put in changes:
        # Headers are short, so that one change of two is there.
        begin = round(len(content) * where**2)
        content = content[:begin] + put + content[begin + cut :]
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter('error')
        path = Path(folder) / 'file'
        path.write_bytes(content)
        said = str(path)
        try:
            found = drive_of(read_log([path], {}))
            assert np.isfinite(found.imu.values).all()
            assert len(found.imu.values) == len(found.imu.stamps) > 0
            assert (np.diff(found.imu.stamps) > 0).all()
        except InputError as error:
            said = str(error)
        assert str(path) in said
        assert '\n' not in said
