"""Rust outlines."""

from assay.syntax.outline import LineSpan, parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
//! A crate.
use std::fmt::{self, Display};
extern crate alloc;
mod elsewhere;

/// A point.
#[derive(Debug)]
pub struct Point<T> {
    x: T,
}
struct Unit;
union Bits { a: u32 }
enum Colour { Red, Green(u8) }
pub trait Shape {
    const SIDES: u8 = 0;
    type Unit;
    /// Measures.
    fn area(&self) -> f64;
    fn name(&self) -> String { "shape".to_string() }
}
impl<T> fmt::Display for Point<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        const LOCAL: u8 = 1;
        fn inner() {}
        write!(f, "{}", helper(LOCAL))
    }
}
impl Shape for &'static [u8] {}
impl geometry::Line { pub const ZERO: u8 = 0; }
mod tests {
    #[test]
    fn works() { Point::<u8>::new().area(); }
}
pub const LIMIT: usize = 3;
static NAME: &str = "n";
type Pair = (u8, u8);
macro_rules! twice { ($e:expr) => { $e; $e } }
"""


def test_rust_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "rust") == [
        ("Point", "class", 6, 10, -1),
        ("Unit", "class", 11, 11, -1),
        ("Bits", "class", 12, 12, -1),
        ("Colour", "enum", 13, 13, -1),
        ("Shape", "interface", 14, 20, -1),
        ("SIDES", "constant", 15, 15, 4),
        ("Unit", "type", 16, 16, 4),
        ("area", "method", 17, 18, 4),
        ("name", "method", 19, 19, 4),
        ("Point", "class", 21, 27, -1),
        ("fmt", "method", 22, 26, 9),
        ("inner", "function", 24, 24, 10),
        ("[u8]", "class", 28, 28, -1),
        ("Line", "class", 29, 29, -1),
        ("ZERO", "constant", 29, 29, 13),
        ("tests", "module", 30, 33, -1),
        ("works", "function", 31, 32, 15),
        ("LIMIT", "constant", 34, 34, -1),
        ("NAME", "constant", 35, 35, -1),
        ("Pair", "type", 36, 36, -1),
        ("twice", "macro", 37, 37, -1),
    ]


def test_rust_doc_comments_are_read_past_attributes():
    assert docs(SOURCE, "rust") == {"Point": "A point.", "area": "Measures."}


def test_rust_signatures_stop_at_the_body():
    assert signatures(SOURCE, "rust")["fmt"] == "fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result"
    assert signatures(SOURCE, "rust")["area"] == "fn area(&self) -> f64;"


def test_rust_imports_and_comments_are_listed():
    found = parse_outline(SOURCE, "rust")
    assert found.imports == ("use std::fmt::{self, Display};", "extern crate alloc;", "mod elsewhere;")
    assert found.comments == (LineSpan(1, 1), LineSpan(6, 6), LineSpan(17, 17))


def test_rust_references_are_calls_types_and_what_macros_call():
    used = references(SOURCE, "rust")
    assert {"Formatter", "to_string", "write", "helper", "new", "area"} <= used
    assert "LOCAL" not in used


def test_rust_impls_of_every_shape_of_type_are_found():
    types = ["u8", "(u8, u8)", "()", "[u8; 4]", "*const u8", "fn(u8)", "dyn Other", "Box<Self>", "a::b::C<u8>"]
    source = "".join(f"impl Shape for {one} {{}}\n" for one in types)
    names = [name for name, *_ in rows(source, "rust")]
    assert names == ["u8", "(u8, u8)", "()", "[u8; 4]", "*const u8", "fn(u8)", "Other", "Box", "C"]


def test_rust_broken_source_keeps_what_can_be_read():
    source = "fn before() {}\nfn broken( {\nstruct After { x: u8 }\n"
    assert parse_outline(source, "rust").broken
    assert ("before", "function", 1, 1, -1) in rows(source, "rust")
    assert not parse_outline(SOURCE, "rust").broken
