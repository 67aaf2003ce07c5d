"""Dart outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
import 'package:shop/base.dart';
part 'more.dart';

/// A cart.
@immutable
class Cart extends Base with Logging {
  final int size = 1;
  static const limit = 2;
  Cart(this.size);
  Cart.empty() : size = 0 {
    open();
  }
  factory Cart.of(Item item) => Cart(1);
  /// Adds up.
  @override
  Future<int> total(int a) async {
    return await store.read(a);
  }
  int get count => 1;
  bool operator ==(Object other) => true;
  void later();
}
mixin Logging on Base {
  void log() {}
}
extension Sizes on Cart {
  int twice() => 2;
}
enum Suit { hearts, spades; void label() {} }
typedef Check = bool Function(int);
int sum(int x) {
  int inner() => 1;
  return inner();
}
const rate = 3;
@deprecated
void old() {
}
"""


def test_dart_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "dart") == [
        ("Cart", "class", 4, 22, -1),
        ("size", "property", 7, 7, 0),
        ("limit", "property", 8, 8, 0),
        ("Cart", "method", 9, 9, 0),
        ("empty", "method", 10, 12, 0),
        ("of", "method", 13, 13, 0),
        ("total", "method", 14, 18, 0),
        ("count", "method", 19, 19, 0),
        ("==", "method", 20, 20, 0),
        ("later", "method", 21, 21, 0),
        ("Logging", "class", 23, 25, -1),
        ("log", "method", 24, 24, 10),
        ("Cart", "class", 26, 28, -1),
        ("twice", "method", 27, 27, 12),
        ("Suit", "enum", 29, 29, -1),
        ("label", "method", 29, 29, 14),
        ("Check", "type", 30, 30, -1),
        ("sum", "function", 31, 34, -1),
        ("inner", "function", 32, 32, 17),
        ("rate", "constant", 35, 35, -1),
        ("old", "function", 36, 38, -1),
    ]


def test_dart_comments_above_annotations_are_documentation():
    assert docs(SOURCE, "dart") == {"Cart": "A cart.", "total": "Adds up."}


def test_dart_signatures_stop_at_the_body():
    assert signatures(SOURCE, "dart")["total"] == "Future<int> total(int a)"


def test_dart_imports_and_references_are_listed():
    assert parse_outline(SOURCE, "dart").imports == ("import 'package:shop/base.dart';", "part 'more.dart';")
    assert {"Base", "Logging", "open", "Cart", "read", "Future"} <= references(SOURCE, "dart")


def test_dart_broken_source_keeps_what_can_be_read():
    source = "class Whole { void good() {} }\nclass Half { void bad( {\n"
    assert parse_outline(source, "dart").broken
    assert ("Whole", "class", 1, 1, -1) in rows(source, "dart")
