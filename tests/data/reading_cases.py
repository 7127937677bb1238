"""What the tests of reading share."""

import numpy as np

from rosenblatt.formats import decimal_numbers as numbers
from rosenblatt.formats import svmlight


def parse(data, **settings):
    padded = np.frombuffer(data + bytes(numbers.PADDING), np.uint8)
    return svmlight.parse_lines(padded, len(data), "x", 1, **settings)
