"""PHP outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
<?php
namespace Shop;

use Shop\\Base\\Model as Base;
require_once __DIR__ . '/boot.php';

/** A cart. */
#[Entity(name: 'cart')]
final class Cart extends Base implements Countable
{
    use Loggable;
    const MIN = 1, MAX = 9;
    #[Column]
    public int $size = 0;
    private $a, $b;

    /** Builds. */
    public function __construct(private readonly Store $store)
    {
        $this->open(new Item());
        self::check();
        $local = total();
    }
    abstract protected function close(): ?Money;
}
interface Countable { public function count(): int; }
trait Loggable { function log() {} }
enum Suit: string { case Hearts = 'h'; const WILD = 1; function label() {} }
function total() { function inner() {} }
const LIMIT = 5;
define('DEBUG', true);
namespace Other { function far() {} }
"""


def test_php_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "php") == [
        ("Cart", "class", 7, 25, -1),
        ("MIN", "constant", 12, 12, 0),
        ("MAX", "constant", 12, 12, 0),
        ("size", "property", 13, 14, 0),
        ("a", "property", 15, 15, 0),
        ("b", "property", 15, 15, 0),
        ("__construct", "method", 17, 23, 0),
        ("close", "method", 24, 24, 0),
        ("Countable", "interface", 26, 26, -1),
        ("count", "method", 26, 26, 8),
        ("Loggable", "class", 27, 27, -1),
        ("log", "method", 27, 27, 10),
        ("Suit", "enum", 28, 28, -1),
        ("WILD", "constant", 28, 28, 12),
        ("label", "method", 28, 28, 12),
        ("total", "function", 29, 29, -1),
        ("inner", "function", 29, 29, 15),
        ("LIMIT", "constant", 30, 30, -1),
        ("DEBUG", "constant", 31, 31, -1),
        ("Other", "module", 32, 32, -1),
        ("far", "function", 32, 32, 19),
    ]


def test_php_comments_above_attributes_are_documentation():
    assert docs(SOURCE, "php") == {"Cart": "A cart.", "__construct": "Builds."}


def test_php_signatures_stop_at_the_body():
    expected = "public function __construct(private readonly Store $store)"
    assert signatures(SOURCE, "php")["__construct"] == expected


def test_php_imports_are_listed():
    assert parse_outline(SOURCE, "php").imports == (
        "use Shop\\Base\\Model as Base;",
        "require_once __DIR__ . '/boot.php'",
        "use Loggable;",
    )


def test_php_references_are_calls_and_types():
    used = references(SOURCE, "php")
    assert {"Base", "Countable", "Store", "open", "Item", "check", "total", "Money"} <= used
    assert "local" not in used


def test_php_broken_source_keeps_what_can_be_read():
    source = "<?php\nfunction good() {}\nclass Half {\n  function bad( {\n"
    assert parse_outline(source, "php").broken
    assert ("good", "function", 2, 2, -1) in rows(source, "php")
