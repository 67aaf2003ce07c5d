"""C outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
#ifndef SHOP_H
#define SHOP_H
#include <stdio.h>
#include "fruit.h"

/* How many fit. */
#define LIMIT 3
#define MAX(a, b) \\
    ((a) > (b) ? (a) : (b))

extern int count, *cursor;
static const char *names[] = {"a"};

/* A basket. */
struct basket {
    int size;
    char *owner;
    int (*weigh)(struct basket *);
};
typedef struct {
    int x;
} point;
typedef int (*handler)(int);
union bits { int a; float b; };
enum colour { RED, GREEN };
struct elsewhere;

/* Opens it. */
int open_basket(struct basket *b);
struct basket *make(void);
char **list(int n);

#ifdef FAST
static int fast = 1;
int quick(void);
#else
int slow(void);
#endif

// Sells.
static int
sell(struct basket *b, price p)
{
    int local = 1;
    struct basket *other = make();
    return b->weigh(other) + pay(local);
}

struct basket *make(void) {
    return 0;
}
#endif
"""


def test_c_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "c") == [
        ("SHOP_H", "macro", 2, 2, -1),
        ("LIMIT", "macro", 6, 7, -1),
        ("MAX", "macro", 8, 9, -1),
        ("count", "constant", 11, 11, -1),
        ("cursor", "constant", 11, 11, -1),
        ("names", "constant", 12, 12, -1),
        ("basket", "class", 14, 19, -1),
        ("size", "property", 16, 16, 6),
        ("owner", "property", 17, 17, 6),
        ("weigh", "property", 18, 18, 6),
        ("point", "type", 20, 22, -1),
        ("x", "property", 21, 21, 10),
        ("handler", "type", 23, 23, -1),
        ("bits", "class", 24, 24, -1),
        ("a", "property", 24, 24, 13),
        ("b", "property", 24, 24, 13),
        ("colour", "enum", 25, 25, -1),
        ("open_basket", "function", 28, 29, -1),
        ("make", "function", 30, 30, -1),
        ("list", "function", 31, 31, -1),
        ("fast", "constant", 34, 34, -1),
        ("quick", "function", 35, 35, -1),
        ("slow", "function", 37, 37, -1),
        ("sell", "function", 40, 47, -1),
        ("make", "function", 49, 51, -1),
    ]


def test_c_documentation_is_attached():
    assert docs(SOURCE, "c") == {
        "LIMIT": "How many fit.",
        "basket": "A basket.",
        "open_basket": "Opens it.",
        "sell": "Sells.",
    }


def test_c_signatures_stop_at_the_body():
    assert signatures(SOURCE, "c")["make"] == "struct basket *make(void)"


def test_c_imports_are_listed():
    assert parse_outline(SOURCE, "c").imports == ("#include <stdio.h>", '#include "fruit.h"')


def test_c_references_are_calls_and_types():
    used = references(SOURCE, "c")
    assert used >= {"handler", "make", "pay", "price", "weigh"}
    assert not used & {"count", "local"}


def test_c_broken_source_keeps_what_can_be_read():
    source = "int before(void) { return 1; }\nint broken( {\n"
    assert parse_outline(source, "c").broken
    assert "before" in [name for name, *_ in rows(source, "c")]
    assert not parse_outline(SOURCE, "c").broken
