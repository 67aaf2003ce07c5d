"""SQL outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows

SOURCE = """\
-- Who buys.
CREATE TABLE IF NOT EXISTS shop.buyers (
  id int PRIMARY KEY,
  name text
);
CREATE VIEW recent AS SELECT * FROM buyers;
CREATE MATERIALIZED VIEW counted AS SELECT 1;
CREATE OR REPLACE FUNCTION find(a int) RETURNS SETOF buyers AS $$
  SELECT * FROM orders WHERE allowed(a)
$$ LANGUAGE sql;
CREATE UNIQUE INDEX IF NOT EXISTS by_name ON buyers (name);
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TRIGGER audit AFTER INSERT ON buyers FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO buyers VALUES (1, 'a');
"""


def test_sql_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "sql") == [
        ("buyers", "class", 1, 5, -1),
        ("recent", "class", 6, 6, -1),
        ("counted", "class", 7, 7, -1),
        ("find", "function", 8, 10, -1),
        ("by_name", "key", 11, 11, -1),
        ("mood", "type", 12, 12, -1),
        ("audit", "function", 13, 13, -1),
    ]


def test_sql_comments_and_references_are_read():
    assert docs(SOURCE, "sql") == {"buyers": "Who buys."}
    assert {"buyers", "orders", "allowed"} <= references(SOURCE, "sql")


def test_sql_broken_source_keeps_what_can_be_read():
    source = "CREATE TABLE good (id int);\nCREATE GIBBERISH bad (;\n"
    assert parse_outline(source, "sql").broken
    assert ("good", "class", 1, 1, -1) in rows(source, "sql")
