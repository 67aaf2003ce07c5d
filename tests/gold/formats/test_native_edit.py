"""A gold file that is changed in place keeps everything that did not change, comments first."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold.build import GoldSource
from assay.gold.formats.native import read_native, rewrite
from assay.gold.load import load_gold, save
from assay.types import GoldSet, LabelProvenance, Query, Span, Target

TEXT = """\
# A set with comments everywhere.
assay: 1
name: small   # its name
corpus: {path: .}
queries:

  # --- floats ---
  - id: float-text          # the first
    retrieval:
      primary: ["json/encoder.py::JSONEncoder.iterencode"]   # where it is written
      secondary: ["json/encoder.py:1-2"]
    cognitive:
      human: >
        how is a float
        written out?
      keyword: no
    tags: {category: semantic, version: 1.10}
    # trailing remark

  - {id: whole-file, retrieval: {primary: [json/decoder.py]}, cognitive: {human: where is text read}}

  # --- the end ---
  - id: literal
    retrieval: {primary: [README.md]}
    cognitive:
      human: |
        two
        lines
"""


def gold_of(text: str = TEXT) -> GoldSet:
    return read_native(GoldSource(Path("small.yaml"), text))


def plain(gold: GoldSet) -> GoldSet:
    return replace(gold, queries=tuple(replace(query, line=None) for query in gold.queries), source=None)


def changed(gold: GoldSet, number: int, **fields: Any) -> GoldSet:
    queries = list(gold.queries)
    queries[number] = replace(queries[number], **fields)
    return replace(gold, queries=tuple(queries))


def test_rewritten_without_a_change_is_the_same_text():
    assert rewrite(TEXT, gold_of(), gold_of()) == TEXT


@pytest.mark.parametrize("number", [0, 1, 2])
def test_rewritten_tag_changes_one_key_and_no_comment(number):
    old = gold_of()
    new = changed(old, number, tags={**old.queries[number].tags, "split": "dev"})
    text = rewrite(TEXT, old, new)
    assert text is not None
    assert plain(gold_of(text)) == plain(new)
    assert [line for line in TEXT.split("\n") if "#" in line] == [line for line in text.split("\n") if "#" in line]
    assert sum(a != b for a, b in zip(TEXT.split("\n"), text.split("\n"), strict=False)) >= 1


def test_rewritten_keeps_untouched_queries_word_for_word():
    old = gold_of()
    text = rewrite(TEXT, old, changed(old, 1, targets=(Target(Span("json/decoder.py", 1, 2)),)))
    assert text is not None
    assert text.split("whole-file")[0] == TEXT.split("whole-file")[0]
    assert text.split("# --- the end ---")[1] == TEXT.split("# --- the end ---")[1]


def test_rewritten_appends_and_cuts_queries():
    old = gold_of()
    added = Query(
        "new", {"human": "a: b # c"}, (Target(Span("README.md")),), labels=(LabelProvenance("README.md", ("ann",)),)
    )
    new = replace(old, queries=(old.queries[0], old.queries[2], added))
    text = rewrite(TEXT, old, new)
    assert text is not None
    assert "# --- the end ---" in text
    assert "whole-file" not in text
    assert plain(gold_of(text)) == plain(new)


def test_rewritten_changes_what_stands_above_the_queries():
    old = gold_of()
    new = replace(old, corpus=replace(old.corpus, root="src"), provenance={"by": "ann"})
    text = rewrite(TEXT, old, new)
    assert text is not None
    assert "# its name" in text
    assert plain(gold_of(text)) == plain(new)


def test_rewritten_gives_up_where_an_alias_would_change_two_queries():
    text = TEXT.replace("tags: {category", "tags: &t {category").replace(
        "retrieval: {primary: [README.md]}", "retrieval: {primary: [README.md]}\n    tags: *t"
    )
    old = gold_of(text)
    new = changed(old, 0, tags={"category": "other"})
    assert rewrite(text, old, new) is None


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip())
)


@given(
    tags=st.lists(st.dictionaries(TEXTS, TEXTS, max_size=3), min_size=3, max_size=3),
    forms=st.lists(TEXTS, min_size=3, max_size=3),
    drop=st.sets(st.integers(0, 2), max_size=2),
    extra=st.lists(TEXTS, max_size=2),
)
def test_rewritten_reads_as_the_new_set_or_gives_up(tags, forms, drop, extra):
    old = gold_of()
    queries = [
        replace(query, tags=tag, forms={**query.forms, "keyword": form})
        for number, (query, tag, form) in enumerate(zip(old.queries, tags, forms, strict=True))
        if number not in drop
    ]
    queries += [Query(f"x{n}", {"human": text}, (Target(Span("README.md")),)) for n, text in enumerate(extra)]
    new = replace(old, queries=tuple(queries))
    text = rewrite(TEXT, old, new)
    assert text is None or plain(gold_of(text)) == plain(new)


def test_save_writes_over_the_file_and_keeps_comments(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, "utf-8")
    old = load_gold(path).golds[0]
    new = changed(old, 0, tags={"split": "test"})
    saved = save(old, new)
    assert (saved.whole, saved.lost) == (False, ())
    assert plain(load_gold(path).golds[0]) == plain(new)
    assert "# where it is written" in path.read_text("utf-8")


def test_save_writes_all_anew_where_it_must(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, "utf-8")
    old = load_gold(path).golds[0]
    new = replace(old, queries=tuple(reversed(old.queries)))
    assert save(old, new).whole
    assert plain(load_gold(path).golds[0]) == plain(new)


def test_save_keeps_line_ends_a_byte_order_mark_and_links(tmp_path):
    real = tmp_path / "real.yaml"
    real.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    link = tmp_path / "small.yaml"
    link.symlink_to(real)
    old = load_gold(link).golds[0]
    new = changed(old, 0, tags={"split": "test"})
    save(old, new)
    raw = real.read_bytes()
    assert link.is_symlink()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert raw.count(b"\n") == raw.count(b"\r\n")
    assert plain(load_gold(link).golds[0]) == plain(new)


def test_save_refuses_a_set_that_could_not_be_read_again(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, "utf-8")
    old = load_gold(path).golds[0]
    twice = changed(old, 0, targets=(Target(Span("a.py")), Target(Span("a.py"))))
    with pytest.raises(GoldError):
        save(old, twice)
    assert path.read_text("utf-8") == TEXT
