from __future__ import annotations

import json
import time

import pytest

from assay.engines.base import EngineReply
from assay.engines.json_output import parse_selector
from assay.engines.output import Format, OutputSettings, make_layout, parse_output
from assay.errors import ConfigError, EngineError
from assay.settings import read_settings
from assay.types import Cost, Hit

KNOWN = frozenset({"Makefile", "my file.py", "odd:12", "a.py"})


def reply(text: str, form: Format = "auto", **fields: str) -> EngineReply:
    return parse_output(
        text.encode(),
        make_layout(read_settings(OutputSettings, {"format": form, **fields}, "engine"), "engine"),
        KNOWN,
    )


def read(text: str, form: Format = "auto", **fields: str) -> list[Hit]:
    return list(reply(text, form, **fields).hits)


@pytest.mark.parametrize(
    ("line", "hit"),
    [
        ("a.py", Hit("a.py")),
        ("a.py:3", Hit("a.py", 3, 3)),
        ("a.py:3-9", Hit("a.py", 3, 9)),
        ("a.py:3:7:def f(x): y:1", Hit("a.py", 3, 3)),
        ("./src/a.py:3", Hit("./src/a.py", 3, 3)),
        ("  a.py:3  \r", Hit("a.py", 3, 3)),
        ("Makefile", Hit("Makefile")),
        ("Makefile:2:all:", Hit("Makefile", 2, 2)),
        ("my file.py:2", Hit("my file.py", 2, 2)),
        ("./my file.py", Hit("./my file.py")),
        ("odd:12", Hit("odd:12")),
        ("gone/file.rs:1-2", Hit("gone/file.rs", 1, 2)),
    ],
)
def test_text_lines_are_read_as_locations(line: str, hit: Hit) -> None:
    assert read(line, "text") == [hit]
    assert read(f"3 results found:\n\n{line}\nDone in 0.3 s.\n") == [hit]


def test_text_without_output_is_no_results() -> None:
    assert read("") == read("  \n\n") == []


@pytest.mark.parametrize(
    "document",
    [
        [{"path": "a.py", "start": 3, "end": 9, "score": 0.5}],
        {"results": [{"file_path": "a.py", "start_line": 3, "end_line": 9, "similarity": 0.5}]},
        {"query": "q", "matches": [{"file": "a.py", "line_start": 3, "line_end": 9, "score": 0.5}]},
    ],
)
def test_json_is_read_by_the_names_that_tools_use(document: object) -> None:
    assert read(json.dumps(document)) == read(json.dumps(document, indent=2)) == [Hit("a.py", 3, 9, 0.5)]


def test_json_lines_are_read_one_by_one() -> None:
    assert read('{"path": "a.py", "line": 3}\n\n{"path": "b.py"}\n') == [Hit("a.py", 3), Hit("b.py")]
    assert read('{"data": {"p": "a.py"}}\n{"type": "end"}\n', "jsonl", path="data.p") == [Hit("a.py")]


def test_json_fields_are_declared_from_the_document_or_from_the_result() -> None:
    text = json.dumps({"r": {"list": [{"chunk": {"f": "a.py", "at": {"s": 3}}, "w": 2}]}})
    expected = [Hit("a.py", 3, None, 2)]
    assert read(text, path="r.list[].chunk.f", start="r.list[].chunk.at.s", score="r.list[].w") == expected
    assert read(text, path="r.list[].chunk.f", start="chunk.at.s", score="w") == expected


def test_json_fields_of_nested_lists_give_a_hit_for_each_inner_item() -> None:
    text = json.dumps({"files": [{"p": "a.py", "m": [{"l": 3}, {"l": 7}]}, {"p": "b.py", "m": []}]})
    assert read(text, path="files[].p", start="files[].m[].l") == [Hit("a.py", 3), Hit("a.py", 7)]


def test_json_path_may_hold_the_lines() -> None:
    assert read('["a.py:3-9", "b.py"]') == [Hit("a.py", 3, 9), Hit("b.py")]
    assert read('{"results": [{"loc": "a.py:3-9"}]}', path="results[].loc") == [Hit("a.py", 3, 9)]


def test_json_null_and_empty_lists_are_no_results() -> None:
    assert read('{"results": null}', path="results[].f") == read('{"results": []}') == read("[]") == []


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        ('{"error": "no index"}', {"path": "results[].f"}, "no 'results'; found: error"),
        ('{"results": {"f": "a"}}', {"path": "results[].f"}, "expected a list at results, got dict"),
        ('{"results": [{"g": "a"}]}', {"path": "results[].f"}, r"no result has a string at results\[\].f"),
        ('{"results": [', {"path": "results[].f"}, "the output is not json"),
        ("", {"path": "results[].f"}, "the output is not json"),
        ("[1e999", {}, "the output is not json"),
    ],
)
def test_json_that_is_not_as_declared_is_an_error(text: str, fields: dict[str, str], message: str) -> None:
    with pytest.raises(EngineError, match=message) as caught:
        read(text, "json", **fields)
    assert caught.value.hint


def test_text_without_a_location_is_told_with_a_next_step() -> None:
    with pytest.raises(EngineError, match="no location in the output") as caught:
        read("nothing to see here")
    assert "path:start-end" in str(caught.value.hint)


def test_json_fields_of_two_lists_beside_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match="different lists"):
        read('{"a": [], "b": []}', path="a[].p", start="b[].l")


@pytest.mark.parametrize("text", ["results[].file_path", "[].path", "a.b[].c[].d", "path", "[][].x"])
def test_selector_prints_as_it_is_written(text: str) -> None:
    assert str(parse_selector(text, "engine x", "path")) == text


ANSWER = '{"results": [{"file": "a.py", "line": 3}]}'
TALK = [
    "\x1b[32mIndexing\x1b[0m\n{}\nDone in 0.3 s\n",
    "10%\r50%\r\x1b[2K100%\r{}\r\n",
    "[INFO] loading\n[1/3] indexing\n{}\n",
    "\x1b]8;;http://x\x07link\x1b]8;;\x07\n\n{}\n[done]\n",
    '{{"level": "info", "message": "loading"}}\n{}\nSkipped: []\n',
]


@pytest.mark.parametrize("talk", TALK)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_among_talk_is_found_and_the_talk_is_told(talk: str, indent: int | None) -> None:
    text = talk.format(json.dumps(json.loads(ANSWER), indent=indent))
    for answer in (reply(text), reply(text, "json"), reply(text, "json", path="results[].file", start="line")):
        assert answer.hits == (Hit("a.py", 3),)
        assert "non-JSON line" in answer.notes[0]


def test_json_behind_progress_on_its_line_is_found_when_json_is_declared() -> None:
    assert reply(f"Indexing 100%{ANSWER}\n", "json").hits == (Hit("a.py", 3),)
    assert reply(f"Indexing [100%] {ANSWER}\n", "json").notes == ("ignored 1 non-JSON line: 'Indexing [100%]'",)


def test_json_in_the_lines_of_grep_is_no_answer() -> None:
    assert read('a.py:3:  "files": ["dist"]\na.py:4:{"path": "x"}\n') == [Hit("a.py", 3, 3), Hit("a.py", 4, 4)]
    assert read("a.py:3\n[]\n") == [Hit("a.py", 3, 3)]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_that_breaks_off_is_an_error_and_not_its_last_part(form: Format) -> None:
    broken = '[{"path": "a.py"},\n{"path": "b.py"},\n{"path": "c.py"}\n'
    with pytest.raises(EngineError, match=f"the output is not {form}: a JSON document is truncated"):
        reply(broken, form)


def test_json_lines_among_talk_are_read_and_a_broken_one_is_an_error() -> None:
    answer = reply('starting\n{"path": "a.py"}\n50%\r{"path": "b.py"}\n', "jsonl")
    assert answer == EngineReply((Hit("a.py"), Hit("b.py")), None, ("ignored 2 non-JSON lines: 'starting'",))
    with pytest.raises(EngineError, match="not jsonl"):
        reply('{"path": "a.py"}\n{"path": "b', "jsonl")
    with pytest.raises(EngineError, match="no JSON document found; it starts with 'Segmentation fault'"):
        reply("Segmentation fault", "jsonl")


def test_json_hidden_behind_a_thousand_openings_is_not_looked_for() -> None:
    assert reply("it [x] says " * 10 + ANSWER, "json").hits == (Hit("a.py", 3),)
    with pytest.raises(EngineError, match="no JSON document found"):
        reply("it [x] says " * 10_000 + ANSWER, "json")


@pytest.mark.soak
def test_json_hidden_behind_many_openings_is_given_up_in_linear_time() -> None:
    def seconds(openings: int) -> float:
        begin = time.perf_counter()
        with pytest.raises(EngineError):
            reply("[x " * openings + ANSWER, "json")
        return time.perf_counter() - begin

    short = min(seconds(30_000) for _ in range(3))
    assert min(seconds(300_000) for _ in range(3)) / short < 40


def test_json_says_what_an_answer_cost() -> None:
    text = json.dumps({"results": [{"file": "a.py", "t": 3}, {"file": "b.py", "t": 4.0}], "usage": {"calls": 2}})
    assert reply(text, tokens="results[].t", calls="usage.calls").cost == Cost(calls=2, tokens=7)
    assert reply(text, tokens="results[].t").cost == Cost(tokens=7)
    missing = reply(text, tokens="usage.tokens")
    assert (missing.cost, missing.notes) == (None, ("no cost found in the output",))
    assert len(missing.hits) == 2
    assert reply(text).cost is None


def test_json_snippets_are_taken_where_they_are_declared() -> None:
    assert read('[{"f": "a.py", "s": "x = 1"}]', path="[].f", snippet="s") == [Hit("a.py", snippet="x = 1")]


@pytest.mark.parametrize(("text", "form"), [("No results found.", "text"), ('{"error": "No results"}', "json")])
def test_answers_that_say_that_nothing_was_found_are_no_results(text: str, form: Format) -> None:
    assert reply(text, form, nothing="No results") == reply(text, nothing="No results") == EngineReply(())
    with pytest.raises(EngineError):
        reply(text, form)
    with pytest.raises(EngineError):
        reply(text, form, nothing="^Nothing")


def test_answers_without_end_are_cut_and_told() -> None:
    answer = reply(json.dumps(["a.py"] * 100_001))
    assert len(answer.hits) == 100_000
    assert answer.notes == ("only the first 100000 of 100001 results were used",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": "[].l"}, "missing `path` for start"),
        ({"path": "[].f", "format": "text"}, "path cannot be used with format text"),
        ({"pattern": "(?P<path>.+)", "format": "json"}, "`pattern` cannot be used with format json"),
        ({"pattern": "(?P<path>.+)", "path": "[].f"}, "`pattern` cannot be combined with path"),
        ({"pattern": "(.+)"}, "`pattern` has no group named path"),
        ({"pattern": "(?P<path>.+)(?P<rank>.)"}, "unknown named group 'rank'"),
        ({"pattern": "(?P<path>.+"}, "pattern: invalid regular expression .*: missing"),
        ({"nothing": "["}, "nothing: invalid regular expression .*: unterminated"),
        ({"failed": "["}, "failed: invalid regular expression .*: unterminated"),
        ({"oversample": 0}, "engine: oversample: expected at least 1, got 0"),
        ({"timeout": 0}, "timeout: expected more than 0, got 0"),
        ({"index_timeout": -1.0}, "index_timeout: expected more than 0, got -1"),
    ],
)
def test_rules_that_cannot_work_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        make_layout(read_settings(OutputSettings, settings, "engine"), "engine")
    assert caught.value.hint or "expected" in caught.value.message


@pytest.mark.parametrize("glued", ["20%", "Indexing [1/3] ", "50%|###  | 3/3 [00:00<00:00] "])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_behind_progress_on_its_line_is_found_without_being_declared(glued: str, indent: int | None) -> None:
    text = f"{glued}{json.dumps(json.loads(ANSWER), indent=indent)}\n"
    assert reply(text) == EngineReply((Hit("a.py", 3),), None, (f"ignored 1 non-JSON line: {glued.strip()!r}",))


def test_json_that_breaks_off_behind_progress_is_no_path() -> None:
    for broken in ('20%{"results":[{"file":"src/a.py"}', '20%{\n"results":[\n{"file":"src/a.py"}\n'):
        for form in ("auto", "json"):
            with pytest.raises(EngineError):
                reply(broken, form)
    with pytest.raises(EngineError, match="no list of results"):
        reply('20%{"data":{"matches":"src/a.py"}}')


def test_json_in_the_lines_of_grep_without_numbers_is_no_answer() -> None:
    assert reply('./a.py:{"path": "x"}\na.py\n').hits == (Hit("a.py"),)


NESTED = json.dumps({"data": {"matches": [{"doc": {"uri": "src/a.py", "lang": "python"}, "w": 1}]}})


def test_json_whose_path_is_elsewhere_is_told_with_the_keys_that_are_there() -> None:
    with pytest.raises(EngineError, match=r"data.matches\[\].doc has: lang, uri") as caught:
        reply(NESTED, path="data.matches[].doc.path")
    assert caught.value.hint == 'set path = "data.matches[].doc.uri"'
    with pytest.raises(EngineError, match="no 'results'") as caught:
        reply(NESTED, path="results[].path")
    assert caught.value.hint == 'set path = "data.matches[].doc.uri"'


def test_json_with_nothing_declared_is_told_the_path_that_is_in_it() -> None:
    with pytest.raises(EngineError) as caught:
        reply(NESTED)
    assert caught.value.hint == 'set path = "data.matches[].doc.uri"'
    with pytest.raises(EngineError) as caught:
        reply('{"answer": 42}')
    assert caught.value.hint == 'set a selector, such as path = "results[].file"'


def test_answer_that_says_what_failed_is_an_error_with_its_words() -> None:
    text = "Failed to index '/x': Got: ConnectError\nno network " + "x " * 400
    for form in ("json", "text", "auto"):
        with pytest.raises(
            EngineError, match="^the tool failed: Failed to index '/x': Got: ConnectError no net"
        ) as caught:
            reply(text, form, failed="^Failed to", nothing="Failed")
        assert "fix the error" in str(caught.value.hint)
        assert len(caught.value.message) < 330
    with pytest.raises(EngineError, match="the tool failed"):
        reply('{"results": [], "error": "Failed to index"}', failed="Failed to")
    assert read(ANSWER, failed="a.py") == [Hit("a.py", 3)]


def test_answer_in_words_is_told_with_the_settings_for_it() -> None:
    for form in ("json", "text", "auto"):
        with pytest.raises(EngineError) as caught:
            reply("No results found for 'x'.", form)
        assert "nothing = '^No results found for'" in str(caught.value.hint)
        assert "failed = '^No results found for'" in str(caught.value.hint)


def test_results_can_be_sorted_by_score():
    text = json.dumps([{"path": "a.py", "score": 1}, {"path": "b.py", "score": 3}, {"path": "Makefile", "score": 2.5}])
    assert [hit.path for hit in read(text, order="score")] == ["b.py", "Makefile", "a.py"]
    assert [hit.path for hit in read(text)] == ["a.py", "b.py", "Makefile"]
