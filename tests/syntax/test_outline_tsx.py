"""TSX outlines: TypeScript, with elements."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows

SOURCE = """\
import { useState } from 'react';

interface Props { label: string }

/** A button. */
export const Button = ({ label }: Props) => {
  const [on, setOn] = useState(false);
  return <Frame.Box onClick={() => setOn(!on)}><Label text={label} /></Frame.Box>;
};

export default function App() {
  return <Button label="x" />;
}
"""


def test_tsx_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "tsx") == [
        ("Props", "interface", 3, 3, -1),
        ("label", "property", 3, 3, 0),
        ("Button", "function", 5, 9, -1),
        ("App", "function", 11, 13, -1),
    ]


def test_tsx_documentation_is_attached():
    assert docs(SOURCE, "tsx") == {"Button": "A button."}


def test_tsx_references_are_calls_types_and_elements():
    assert references(SOURCE, "tsx") >= {"useState", "setOn", "Props", "Box", "Label", "Button"}


def test_tsx_broken_source_keeps_what_can_be_read():
    source = "const Before = () => <a />;\nconst Broken = () => <a>;\n"
    assert parse_outline(source, "tsx").broken
    assert "Before" in [name for name, *_ in rows(source, "tsx")]
    assert not parse_outline(SOURCE, "tsx").broken
