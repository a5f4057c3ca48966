# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Images to samples: encodings, padding, byte orders, sizes, and what is refused."""

from types import SimpleNamespace

from image_message import make_image
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.image_values import channel_names, ENCODINGS, ImageValues, overlaps

RNG = np.random.Generator(np.random.PCG64(1))


def naive(grey: np.ndarray, width: int, height: int) -> np.ndarray:
    """Mean over boxes with a fine grid of points."""
    fine = 20
    big = np.kron(grey, np.ones((fine * height, fine * width)))
    rows, columns = grey.shape[0] * fine, grey.shape[1] * fine
    return big.reshape(height, rows, width, columns).mean(axis=(1, 3)).ravel()


@pytest.mark.parametrize('encoding', ENCODINGS)
@pytest.mark.parametrize('frame', ['', 'cam', 'camera'])
def test_every_encoding(encoding, frame):
    known = ENCODINGS[encoding]
    top = 256**known.depth
    dtype = np.uint8 if known.depth == 1 else np.uint16
    pixels = RNG.integers(0, top, (5, 7, known.channels)).astype(dtype)
    image = make_image(pixels, encoding, frame=frame)
    stamp, said, values = ImageValues(3, 2).decode(image)
    assert (stamp, said) == (5_000_000_007, frame)
    grey = pixels[:, :, : len(known.weights)] @ np.array(known.weights) / (top - 1)
    assert sum(known.weights) == pytest.approx(1.0)
    red = np.zeros((4, 4, 3), np.uint8)
    red[..., 0] = 255
    for order, wanted in (('rgb8', 0.299), ('bgr8', 0.114)):
        assert ImageValues(1, 1).decode(make_image(red, order))[2] == pytest.approx([wanted])
    np.testing.assert_allclose(values, naive(grey, 3, 2), atol=1e-12)


def test_padding_byte_order_and_a_change_of_size_do_not_matter():
    shrink = ImageValues(2, 2)
    for size in (3, 6):
        pixels = RNG.integers(0, 65536, (size, size, 1)).astype(np.uint16)
        plain = shrink.decode(make_image(pixels, 'mono16'))[2]
        for changed in ({'padding': 5}, {'bigendian': True}):
            other = shrink.decode(make_image(pixels, 'mono16', **changed))[2]
            np.testing.assert_array_equal(other, plain)


def test_boxes_take_every_pixel_once():
    for pixels, boxes in ((7, 3), (8, 4), (5, 5), (640, 16)):
        shares = overlaps(pixels, boxes)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        np.testing.assert_allclose(shares.sum(axis=0), boxes / pixels)
    names = channel_names(3, 2)
    assert len(set(names)) == 6
    assert names[1] == 'pixel.0.1'


def test_what_cannot_be_read_is_refused_in_words():
    pixels = np.zeros((4, 6, 1), np.uint8)
    good = make_image(pixels, 'mono8')
    for words, image, grid in (
        ('encoded as', make_image(pixels, 'yuv422'), (2, 2)),
        ('in 23 bytes', SimpleNamespace(**{**vars(good), 'data': good.data[:-1]}), (2, 2)),
        ('cannot be in 0 bytes', make_image(pixels[:, :0], 'mono8'), (2, 2)),
        ('smaller than the grid of 16 x 12', good, (16, 12)),
    ):
        with pytest.raises(InputError, match=words):
            ImageValues(*grid).decode(image)
