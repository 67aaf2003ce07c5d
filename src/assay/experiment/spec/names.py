"""Which names an engine may have: those that a file can hold."""

from __future__ import annotations

from collections.abc import Iterable

from assay.errors import ConfigError


def check_writable(names: Iterable[str]) -> None:
    """Refuse a name that no file can hold, before anybody is asked under it."""
    for name in names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ConfigError(
                f"{name!a} is no name of an engine: character {error.start + 1} is half of a pair",
                hint="give it a name in letters that UTF-8 can write",
            ) from error
