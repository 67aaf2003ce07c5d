from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.search import SearchConfig
from assay.search.chunks import count_windows, lay_windows, windows_of

_configs = st.one_of(
    st.just(SearchConfig(window=0, overlap=0)),
    st.integers(1, 9).flatmap(lambda w: st.builds(SearchConfig, window=st.just(w), overlap=st.integers(0, w - 1))),
)


def spans(lines: int, config: SearchConfig) -> list[tuple[int, int]]:
    chunks = lay_windows(("a",), [lines], config)
    return list(zip(chunks.start.tolist(), chunks.end.tolist(), strict=True))


def test_windows_overlap_as_configured() -> None:
    assert spans(100, SearchConfig()) == [(1, 40), (31, 70), (61, 100)]
    assert spans(101, SearchConfig()) == [(1, 40), (31, 70), (61, 100), (91, 101)]
    assert spans(40, SearchConfig()) == [(1, 40)]
    assert spans(0, SearchConfig()) == [(1, 0)]
    assert spans(500, SearchConfig(window=0)) == [(1, 500)]


@given(st.lists(st.integers(0, 60), max_size=5), _configs)
def test_windows_cover_every_line_of_every_file(lines: list[int], config: SearchConfig) -> None:
    chunks = lay_windows(tuple(map(str, range(len(lines)))), lines, config)
    for file, length in enumerate(lines):
        mine = np.flatnonzero(chunks.file == file)
        starts, ends = chunks.start[mine].tolist(), chunks.end[mine].tolist()
        covered = {line for start, end in zip(starts, ends, strict=True) for line in range(start, end + 1)}
        assert covered == set(range(1, length + 1))
        assert starts == sorted(set(starts))
        if config.window:
            assert all(end - start < config.window for start, end in zip(starts, ends, strict=True))


@given(st.integers(1, 60), _configs)
def test_windows_of_a_line_are_those_that_span_it(lines: int, config: SearchConfig) -> None:
    laid = spans(lines, config)
    assert len(laid) == count_windows(lines, config)
    numbered = windows_of(np.arange(lines), len(laid), config)
    for line in range(lines):
        expected = [n for n, (start, end) in enumerate(laid) if start <= line + 1 <= end]
        assert sorted(int(window[line]) for window in numbered if window[line] >= 0) == expected


@pytest.mark.parametrize(
    "settings",
    [
        {"window": -1}, {"window": 10, "overlap": 10}, {"overlap": -1}, {"b": 1.1}, {"b": -0.1}, {"k1": -1},
        {"k1": float("nan")}, {"k1": float("inf")}, {"window": True}, {"window": 2.5}, {"path_weight": "2"},
        {"file_chunks": 0}, {"file_decay": 2}, {"longest_word": 0},
    ],
)  # fmt: skip
def test_search_config_refuses_values_without_a_meaning(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        SearchConfig(**settings)  # type: ignore[arg-type]  # what is being tested
    assert next(iter(settings)) in str(caught.value)
    assert caught.value.hint


def test_search_config_gives_every_field() -> None:
    assert set(SearchConfig().as_dict()) == set(SearchConfig.__dataclass_fields__)
