"""Zig outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
//! A file.
const std = @import("std");
const Allocator = @import("std").mem.Allocator;

/// A point.
pub const Point = struct {
    x: u8 = 1,
    const Self = @This();
    pub const Kind = enum { near, far };
    /// Makes one.
    pub fn init(x: Extra) Point {
        const local = 1;
        return Point{ .x = helper(local) };
    }
};
const Failure = error{ Broken };
const Value = union(enum) { int: u8 };
pub var counter: u8 = 0;
extern fn outside() void;
fn List(comptime T: type) type {
    return struct {
        items: []T,
        pub fn push() void {}
    };
}
test "makes a point" {
    std.debug.print("", .{});
}
test {
    _ = Point;
}
"""


def test_zig_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "zig") == [
        ("Point", "class", 5, 15, -1),
        ("Self", "constant", 8, 8, 0),
        ("Kind", "enum", 9, 9, 0),
        ("init", "method", 10, 14, 0),
        ("Failure", "enum", 16, 16, -1),
        ("Value", "class", 17, 17, -1),
        ("counter", "constant", 18, 18, -1),
        ("outside", "function", 19, 19, -1),
        ("List", "function", 20, 25, -1),
        ("push", "function", 23, 23, 8),
        ("makes a point", "function", 26, 28, -1),
        ("test", "function", 29, 31, -1),
    ]


def test_zig_comments_and_signatures_are_read():
    assert docs(SOURCE, "zig") == {"Point": "A point.", "init": "Makes one."}
    assert signatures(SOURCE, "zig")["init"] == "pub fn init(x: Extra) Point"
    assert signatures(SOURCE, "zig")["Point"] == "pub const Point = struct {"


def test_zig_imports_and_references_are_listed():
    assert parse_outline(SOURCE, "zig").imports == (
        'const std = @import("std");',
        'const Allocator = @import("std").mem.Allocator;',
    )
    assert {"helper", "print", "Extra"} <= references(SOURCE, "zig")


def test_zig_broken_source_keeps_what_can_be_read():
    source = "fn good() void {}\nfn bad( {\n"
    assert parse_outline(source, "zig").broken
    assert ("good", "function", 1, 1, -1) in rows(source, "zig")
