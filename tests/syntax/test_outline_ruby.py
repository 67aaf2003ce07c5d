"""Ruby outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
require 'json'
require_relative "helper"
# Shapes.
# All of them.
module Geometry::Shapes
  VERSION = "1.0"
  Failure = Class.new(StandardError)
  # A circle.
  class Circle < Base::Shape
    include Comparable
    attr_reader :radius
    def self.unit(scale = 1) = new(scale)
    # Measures.
    def area
      total = Math.square(@radius)
      total
    end
    class << self
      def parse(text); end
    end
    private def hidden?; end
    Point = Struct.new(:x) do
      def far; end
    end
  end
end
def top
end
"""


def test_ruby_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "ruby") == [
        ("Shapes", "module", 3, 26, -1),
        ("VERSION", "constant", 6, 6, 0),
        ("Failure", "class", 7, 7, 0),
        ("Circle", "class", 8, 25, 0),
        ("unit", "method", 12, 12, 3),
        ("area", "method", 13, 17, 3),
        ("parse", "method", 19, 19, 3),
        ("hidden?", "method", 21, 21, 3),
        ("Point", "class", 22, 24, 3),
        ("far", "method", 23, 23, 8),
        ("top", "method", 27, 28, -1),
    ]


def test_ruby_comments_above_are_documentation():
    assert docs(SOURCE, "ruby") == {"Shapes": "Shapes. All of them.", "Circle": "A circle.", "area": "Measures."}


def test_ruby_signatures_stop_at_the_body():
    assert signatures(SOURCE, "ruby")["Circle"] == "class Circle < Base::Shape"
    assert signatures(SOURCE, "ruby")["area"] == "def area"


def test_ruby_requires_are_imports():
    assert parse_outline(SOURCE, "ruby").imports == ("require 'json'", 'require_relative "helper"')


def test_ruby_a_method_named_require_is_no_import():
    assert parse_outline("params.require(:user)\n", "ruby").imports == ()


def test_ruby_references_are_calls_and_constants():
    assert {"new", "Comparable", "Math", "square", "Base", "Shape"} <= references(SOURCE, "ruby")
    assert "total" not in references(SOURCE, "ruby")


def test_ruby_broken_source_keeps_what_can_be_read():
    source = "class Whole\n  def good\n  end\nend\nclass Half\n  def bad(\n"
    assert parse_outline(source, "ruby").broken
    assert rows(source, "ruby")[:2] == [("Whole", "class", 1, 4, -1), ("good", "method", 2, 3, 0)]
