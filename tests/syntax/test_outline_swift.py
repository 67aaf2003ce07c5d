"""Swift outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
import Foundation
@testable import Shop

/// How many fit.
let limit = 3
var names: [String] = ["a"]
typealias Price = [String: Int]

/// Holds fruit.
@objc
public final class Basket<T>: Holder, Shape {
    static let depth = 4
    private(set) var owner: String?
    var isEmpty: Bool {
        let local = 1
        return size == local
    }

    /// Makes one.
    init(size: Int) {
        super.init(size)
    }

    deinit {
        close()
    }

    // Counts.
    @discardableResult
    override func count(of query: Query) async throws -> Int {
        let local = 1
        func inner() -> Int { helper(local) }
        return tree.walk(Visitor(inner))
    }

    subscript(index: Int) -> T {
        items[index]
    }

    static func == (left: Basket, right: Basket) -> Bool {
        true
    }
}

struct Point {
    let x: Int, y: Int
}

enum Colour: String {
    case red, green
    var code: Int { 1 }
    func twice() -> Int { 2 }
}

protocol Shape {
    associatedtype Unit
    var sides: Int { get }
    func area() -> Double
}

actor Registry {
    var all: [String] = []
}

extension Basket where T == Int {
    func sum() -> Int { 0 }
}

extension Shop.Aisle: Shape {}

func sell(_ basket: Basket<Int>) {
    let local = 1
    pay(local)
}
"""


def test_swift_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "swift") == [
        ("limit", "constant", 4, 5, -1),
        ("names", "constant", 6, 6, -1),
        ("Price", "type", 7, 7, -1),
        ("Basket", "class", 9, 43, -1),
        ("depth", "property", 12, 12, 3),
        ("owner", "property", 13, 13, 3),
        ("isEmpty", "property", 14, 17, 3),
        ("init", "method", 19, 22, 3),
        ("deinit", "method", 24, 26, 3),
        ("count", "method", 28, 34, 3),
        ("inner", "function", 32, 32, 9),
        ("subscript", "method", 36, 38, 3),
        ("==", "method", 40, 42, 3),
        ("Point", "class", 45, 47, -1),
        ("x", "property", 46, 46, 13),
        ("y", "property", 46, 46, 13),
        ("Colour", "enum", 49, 53, -1),
        ("code", "property", 51, 51, 16),
        ("twice", "method", 52, 52, 16),
        ("Shape", "interface", 55, 59, -1),
        ("Unit", "type", 56, 56, 19),
        ("sides", "property", 57, 57, 19),
        ("area", "method", 58, 58, 19),
        ("Registry", "class", 61, 63, -1),
        ("all", "property", 62, 62, 23),
        ("Basket", "class", 65, 67, -1),
        ("sum", "method", 66, 66, 25),
        ("Shop.Aisle", "class", 69, 69, -1),
        ("sell", "function", 71, 74, -1),
    ]


def test_swift_documentation_is_attached():
    assert docs(SOURCE, "swift") == {
        "limit": "How many fit.",
        "Basket": "Holds fruit.",
        "init": "Makes one.",
        "count": "Counts.",
    }


def test_swift_signatures_stop_at_the_body():
    assert signatures(SOURCE, "swift")["count"] == "override func count(of query: Query) async throws -> Int"


def test_swift_imports_are_listed():
    assert parse_outline(SOURCE, "swift").imports == ("import Foundation", "@testable import Shop")


def test_swift_references_are_calls_and_types():
    used = references(SOURCE, "swift")
    assert used >= {"Aisle", "Holder", "Query", "Visitor", "close", "helper", "objc", "pay", "walk"}
    assert not used & {"local", "owner"}


def test_swift_broken_source_keeps_what_can_be_read():
    source = "func before() {}\nfunc broken( {\n"
    assert parse_outline(source, "swift").broken
    assert "before" in [name for name, *_ in rows(source, "swift")]
    assert not parse_outline(SOURCE, "swift").broken
