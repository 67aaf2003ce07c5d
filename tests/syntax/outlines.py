"""What the outline tests compare: a definition as one row."""

from assay.syntax.outline import parse_outline

Row = tuple[str, str, int, int, int]


def rows(text: str, grammar: str) -> list[Row]:
    """List the definitions of a text as (name, kind, first line, last line, position of the parent)."""
    return [(d.name, d.kind, d.start, d.end, d.parent) for d in parse_outline(text, grammar).definitions]


def docs(text: str, grammar: str) -> dict[str, str]:
    """Map the names that have a documentation to it."""
    return {d.name: d.doc for d in parse_outline(text, grammar).definitions if d.doc}


def signatures(text: str, grammar: str) -> dict[str, str]:
    """Map names to signatures."""
    return {d.name: d.signature for d in parse_outline(text, grammar).definitions}


def references(text: str, grammar: str) -> set[str]:
    """Collect the names a text uses."""
    return set(parse_outline(text, grammar).references)
