"""Go outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
// Package shop sells.
package shop

import (
	"fmt"
	t "time"
)

// Limit is how many fit.
const Limit = 3

const (
	// Red is a colour.
	Red = iota
	Green
)

var left, right int = 1, 2

var (
	Names = []string{"a"}
)

// Basket holds fruit.
type Basket[T any] struct {
	Size int
	a, b T // both
}

type (
	// Shape has an area.
	Shape interface {
		Area(unit Unit) float64
		fmt.Stringer
	}
	Handler func(x int) error
	Alias   = Basket[int]
)

// Count counts.
func (b *Basket[T]) Count(x Query) (n int) {
	const local = 1
	var other = Helper{}
	type inner struct{ y int }
	each := func() {}
	return count(b.tree.Walk(local, each))
}

func Sell(b Basket[int]) {
	fmt.Println(b)
}
"""


def test_go_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "go") == [
        ("Limit", "constant", 9, 10, -1),
        ("Red", "constant", 13, 14, -1),
        ("Green", "constant", 15, 15, -1),
        ("left", "constant", 18, 18, -1),
        ("right", "constant", 18, 18, -1),
        ("Names", "constant", 21, 21, -1),
        ("Basket", "class", 24, 28, -1),
        ("Size", "property", 26, 26, 6),
        ("a", "property", 27, 27, 6),
        ("b", "property", 27, 27, 6),
        ("Shape", "interface", 31, 35, -1),
        ("Area", "method", 33, 33, 10),
        ("Handler", "type", 36, 36, -1),
        ("Alias", "type", 37, 37, -1),
        ("Count", "method", 40, 47, -1),
        ("inner", "class", 44, 44, 14),
        ("y", "property", 44, 44, 15),
        ("Sell", "function", 49, 51, -1),
    ]


def test_go_documentation_is_attached():
    assert docs(SOURCE, "go") == {
        "Limit": "Limit is how many fit.",
        "Red": "Red is a colour.",
        "Basket": "Basket holds fruit.",
        "Shape": "Shape has an area.",
        "Count": "Count counts.",
    }


def test_go_signatures_stop_at_the_body():
    assert signatures(SOURCE, "go")["Count"] == "func (b *Basket[T]) Count(x Query) (n int)"


def test_go_imports_are_listed():
    assert parse_outline(SOURCE, "go").imports == ('import ( "fmt" t "time" )',)


def test_go_references_are_calls_and_types():
    used = references(SOURCE, "go")
    assert used >= {"Helper", "Println", "Query", "Stringer", "Unit", "Walk", "count"}
    assert not used & {"local", "other"}


def test_go_broken_source_keeps_what_can_be_read():
    source = "package a\n\nfunc before() {}\n\nfunc broken( {\n"
    assert parse_outline(source, "go").broken
    assert "before" in [name for name, *_ in rows(source, "go")]
    assert not parse_outline(SOURCE, "go").broken
