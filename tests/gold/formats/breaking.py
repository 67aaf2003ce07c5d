"""Ways to break a sound file: change some of its characters or lines, or put any value in any place."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from assay.errors import AssayError


def mutated(draw: st.DrawFn, parts: list[str]) -> list[str]:
    """Delete, repeat or replace a few parts of a text."""
    parts = list(parts)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(len(parts) - 1, 0)))
        how = draw(st.sampled_from(["delete", "repeat", "replace", "insert", "swap"]))
        odd = draw(
            st.text(max_size=3) | st.sampled_from(['"', "'", ",", ":", "[", "]", "{", "}", "\n", "\t", "- ", "#"])
        )
        if how == "delete":
            parts[at : at + draw(st.integers(1, 3))] = []
        elif how == "repeat":
            parts[at:at] = parts[at : at + draw(st.integers(1, 3))]
        elif how == "swap" and parts:
            other = draw(st.integers(0, len(parts) - 1))
            parts[at], parts[other] = parts[other], parts[at]
        else:
            parts[at : at + (how == "replace")] = [odd]
    return parts


@st.composite
def broken(draw: st.DrawFn, text: str) -> str:
    """Draw a text with some of its characters, or some of its lines, changed."""
    if draw(st.booleans()):
        return "".join(mutated(draw, list(text)))
    return "".join(mutated(draw, text.splitlines(keepends=True)))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS | st.sampled_from(["a.py", "/a", "a.py::f", "a.py:1-2", "", "id", "2"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["query", "path", "primary", "file", "metrics", "human", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the way to every value inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Give a value with another one in one place."""
    if not path:
        return new
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = replaced(value[key], tuple(rest), new)
    return copy


def refused(read: Callable[[], object]) -> AssayError | None:
    """Give the error that reading ends in, if it does; anything that is no error of ours escapes."""
    try:
        read()
    except AssayError as error:
        return error
    return None
