"""Axes that can be read."""

import pytest

from bges.report.chart import labelled


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([-300.1, -300.0, -299.9], ["-300.1", "-300", "-299.9"]),
        ([-292.5, -290.0], ["-292.5", "-290"]),
        ([0.0, 0.5, 1.0], ["0", "0.5", "1"]),
        ([10_000.0, 10_050.0], ["10k", "10.05k"]),
        ([2.0], ["2"]),
        ([], []),
    ],
)
def test_ticks_have_the_digits_that_tell_them_apart(values, texts):
    assert labelled(values) == list(zip(values, texts, strict=True))
