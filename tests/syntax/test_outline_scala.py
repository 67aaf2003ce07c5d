"""Scala outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
package shop

import scala.collection.{Map, mutable => m}

/** Holds fruit. */
@deprecated("x")
abstract class Basket[T](val size: Int) extends Holder[T](size) with Shape {
  type Price = Int
  val owner: String = "me"
  var colour = "red"
  val later: Int

  // Counts.
  override def count(query: Query): Int = {
    val local = 1
    def inner = helper(local)
    tree.walk(new Visitor(inner))
  }

  def weigh: Double

  /** Sums. */
  def total(xs: List[Int]): Int =
    xs match {
      case Nil => 0
      case _   => xs.sum
    }

  /** Joins. */
  def ++(other: Basket[T]): Basket[T] = other
}

object Basket {
  def empty[T] = build[T](0)
  implicit val order: Ordering[Int] = null
}

case class Point(x: Int, y: Int)

sealed trait Shape {
  def area: Double
}

enum Colour {
  case Red, Green
  def code = 1
}

given intShape: Shape with {
  def area = 1.0
}

extension (name: Name)
  def loud: String = name.upper

package object tools {
  val Depth = 4
}

type Pair = (Int, Int)
val Limit = 3
def sell(basket: Basket[Int]): Unit = pay(basket)
"""


def test_scala_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "scala") == [
        ("Basket", "class", 5, 31, -1),
        ("Price", "type", 8, 8, 0),
        ("owner", "property", 9, 9, 0),
        ("colour", "property", 10, 10, 0),
        ("later", "property", 11, 11, 0),
        ("count", "method", 13, 18, 0),
        ("inner", "function", 16, 16, 5),
        ("weigh", "method", 20, 20, 0),
        ("total", "method", 22, 28, 0),
        ("++", "method", 29, 30, 0),
        ("Basket", "class", 33, 36, -1),
        ("empty", "method", 34, 34, 10),
        ("order", "property", 35, 35, 10),
        ("Point", "class", 38, 38, -1),
        ("Shape", "interface", 40, 42, -1),
        ("area", "method", 41, 41, 14),
        ("Colour", "enum", 44, 47, -1),
        ("code", "method", 46, 46, 16),
        ("intShape", "class", 49, 51, -1),
        ("area", "method", 50, 50, 18),
        ("Name", "class", 53, 54, -1),
        ("loud", "method", 54, 54, 20),
        ("tools", "module", 56, 58, -1),
        ("Depth", "property", 57, 57, 22),
        ("Pair", "type", 60, 60, -1),
        ("Limit", "constant", 61, 61, -1),
        ("sell", "function", 62, 62, -1),
    ]


def test_scala_documentation_is_attached():
    assert docs(SOURCE, "scala") == {"Basket": "Holds fruit.", "count": "Counts.", "total": "Sums.", "++": "Joins."}


def test_scala_signatures_stop_at_the_body():
    assert signatures(SOURCE, "scala")["count"] == "override def count(query: Query): Int ="


def test_scala_imports_are_listed():
    assert parse_outline(SOURCE, "scala").imports == ("import scala.collection.{Map, mutable => m}",)


def test_scala_references_are_calls_and_types():
    used = references(SOURCE, "scala")
    assert used >= {"Holder", "Ordering", "Query", "Visitor", "build", "helper", "pay", "walk"}
    assert not used & {"local", "owner"}


def test_scala_broken_source_keeps_what_can_be_read():
    source = "object Before {}\nclass Broken { def f( }\n"
    assert parse_outline(source, "scala").broken
    assert "Before" in [name for name, *_ in rows(source, "scala")]
    assert not parse_outline(SOURCE, "scala").broken
