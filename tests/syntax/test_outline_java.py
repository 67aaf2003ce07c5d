"""Java outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
package shop.fruit;

import java.util.List;
import static java.lang.Math.*;

/** Holds fruit. */
@Deprecated
public class Basket<T> extends Holder<T> implements Shape {
    // How many fit.
    private static final int LIMIT = 3, DEPTH = 4;
    protected String owner;

    static {
        init();
    }

    public Basket(int size) {
        super(size);
    }

    /**
     * Counts.
     */
    @Override
    public <U> int count(Query query) throws IOException {
        int local = 1;
        Runnable r = new Runnable() {
            public void run() { helper(local); }
        };
        return tree.walk(new Visitor<>(r));
    }

    interface Shape {
        int SIDES = 4;
        double area();
        default void draw() {}
    }

    enum Colour {
        RED, GREEN { int code() { return 2; } };
        Colour() {}
        int code() { return 1; }
    }

    record Point(int x, int y) {
        Point {
            check(x);
        }
    }

    @interface Marked {
        String value() default "";
    }
}
"""


def test_java_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "java") == [
        ("Basket", "class", 6, 54, -1),
        ("LIMIT", "property", 9, 10, 0),
        ("DEPTH", "property", 9, 10, 0),
        ("owner", "property", 11, 11, 0),
        ("Basket", "method", 17, 19, 0),
        ("count", "method", 21, 31, 0),
        ("run", "method", 28, 28, 5),
        ("Shape", "interface", 33, 37, 0),
        ("SIDES", "constant", 34, 34, 7),
        ("area", "method", 35, 35, 7),
        ("draw", "method", 36, 36, 7),
        ("Colour", "enum", 39, 43, 0),
        ("code", "method", 40, 40, 11),
        ("Colour", "method", 41, 41, 11),
        ("code", "method", 42, 42, 11),
        ("Point", "class", 45, 49, 0),
        ("Point", "method", 46, 48, 15),
        ("Marked", "interface", 51, 53, 0),
        ("value", "method", 52, 52, 17),
    ]


def test_java_documentation_is_attached():
    assert docs(SOURCE, "java") == {
        "Basket": "Holds fruit.",
        "LIMIT": "How many fit.",
        "DEPTH": "How many fit.",
        "count": "Counts.",
    }


def test_java_signatures_stop_at_the_body():
    assert signatures(SOURCE, "java")["count"] == "public <U> int count(Query query) throws IOException"


def test_java_imports_are_listed():
    assert parse_outline(SOURCE, "java").imports == ("import java.util.List;", "import static java.lang.Math.*;")


def test_java_references_are_calls_and_types():
    used = references(SOURCE, "java")
    assert used >= {"Holder", "IOException", "Override", "Query", "Visitor", "check", "helper", "walk"}
    assert not used & {"local", "owner"}


def test_java_broken_source_keeps_what_can_be_read():
    source = "class Before {}\nclass Broken { int f( }\n"
    assert parse_outline(source, "java").broken
    assert "Before" in [name for name, *_ in rows(source, "java")]
    assert not parse_outline(SOURCE, "java").broken
