"""What a tool says when it finds nothing is no failure once it is declared; and numbers go into lists."""

from __future__ import annotations

import pytest

from assay.engines.output import OutputSettings, make_layout, parse_output
from assay.errors import EngineError
from assay.types import Hit

KNOWN = frozenset({"a.py"})


def test_json_that_says_that_nothing_was_found_has_no_hits() -> None:
    layout = make_layout(
        OutputSettings(format="json", path="results[].file", nothing="No results found"), "engine test"
    )
    assert parse_output('{"error": "No results found."}', layout, KNOWN).hits == ()
    assert parse_output('{"results": [{"file": "a.py"}]}', layout, KNOWN).hits == (Hit("a.py"),)
    with pytest.raises(EngineError, match="no 'results'"):
        parse_output('{"error": "out of memory"}', layout, KNOWN)


def test_json_without_results_fails_where_nothing_is_declared() -> None:
    layout = make_layout(OutputSettings(format="json", path="results[].file"), "engine test")
    with pytest.raises(EngineError, match="no 'results'"):
        parse_output('{"error": "No results found."}', layout, KNOWN)


def test_a_number_takes_an_item_of_a_list() -> None:
    settings = OutputSettings(path="[].file", start="[].lines.0", end="[].lines.1")
    layout = make_layout(settings, "engine test")
    data = '[{"file": "a.py", "lines": [3, 9]}, {"file": "a.py", "lines": []}, {"file": "a.py", "lines": {"0": 4}}]'
    assert parse_output(data, layout, KNOWN).hits == (Hit("a.py", 3, 9), Hit("a.py"), Hit("a.py", 4, None))
