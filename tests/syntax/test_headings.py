"""Where sections begin."""

from assay.syntax.text import DocHeading, find_headings


def found(text: str) -> list[DocHeading]:
    return list(find_headings(text.split("\n")))


def test_headings_of_three_languages():
    assert found("# One\ntext\n### Two ##") == [DocHeading(1, 1, "One"), DocHeading(3, 3, "Two")]
    assert found("Title\n=====\nPart\n----") == [DocHeading(1, 1, "Title"), DocHeading(3, 2, "Part")]
    assert found("= Doc\n== Part") == [DocHeading(1, 1, "Doc"), DocHeading(2, 2, "Part")]


def test_headings_in_fenced_code_are_none():
    assert found("```bash\n# not one\n```\n# one") == [DocHeading(4, 1, "one")]
    assert found("~~~\n# no\n```\n# no\n~~~\n# yes") == [DocHeading(6, 1, "yes")]


def test_a_fence_with_a_language_closes_none():
    text = "```bash\n# no\n```toml\n# no, the first fence was left open\n```\n# yes"
    assert [heading.title for heading in found(text)] == ["yes"]
