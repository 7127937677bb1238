"""What the tests of contracts share."""

from hypothesis import settings

PROPERTY = settings(max_examples=25, deadline=None, derandomize=True)
