from __future__ import annotations

import pytest

from assay.corpus.packages import parse_version


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("1.0", "v1.0.0", True),
        ("1.0rc1", "1.0.C.1", True),
        ("1.0a", "1.0-alpha_0", True),
        ("1.0-1", "1.0.post1", True),
        ("0!1", "1", True),
        ("1!1", "1", False),
        ("1.0.dev", "1.0dev0", True),
        ("1.0+u.1", "1.0+U-1", True),
        ("1.0", "1.0.1", False),
        ("1.0a1", "1.0b1", False),
        ("1.0", "1.0.post0", False),
        ("0", "0.0", True),
    ],
)
def test_versions_are_compared_as_pep_440_has_them(one: str, two: str, same: bool) -> None:
    assert (parse_version(one) == parse_version(two)) is same
