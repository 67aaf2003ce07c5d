"""Kotlin outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
package shop

import shop.fruit.Apple
import shop.tools.*

/** How many fit. */
const val LIMIT = 3
val names: List<String> by lazy { listOf("a") }
typealias Price = Map<String, Int>

// Holds fruit.
@Serializable
open class Basket<T>(val size: Int, owner: String) : Holder<T>(size), Shape {
    private val tree = Tree()
    var colour: String = "red"
        get() = field

    constructor(size: Int) : this(size, "me") {
        check(size)
    }

    /**
     * Counts.
     */
    @Deprecated("x")
    override suspend fun count(query: Query): Int {
        val local = 1
        fun inner() = helper(local)
        return tree.walk(inner())
    }

    inner class Handle

    companion object {
        const val DEPTH = 4
        fun of() = Basket<Int>(1)
    }
}

data class Point(val x: Int, val y: Int)

interface Shape {
    val sides: Int
    fun area(): Double
}

fun interface Visitor {
    fun visit()
}

enum class Colour(val code: Int) {
    RED(1),
    GREEN(2);

    val half = code / 2

    fun twice() = code * 2
}

object Registry {
    val all = mutableListOf<Basket<*>>()
}

fun <T> Basket<T>.sell(to: Buyer): T = to.pay(this)

val Basket<*>.empty: Boolean
    get() = size == 0
"""


def test_kotlin_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "kotlin") == [
        ("LIMIT", "constant", 6, 7, -1),
        ("names", "constant", 8, 8, -1),
        ("Price", "type", 9, 9, -1),
        ("Basket", "class", 11, 38, -1),
        ("tree", "property", 14, 14, 3),
        ("colour", "property", 15, 16, 3),
        ("constructor", "method", 18, 20, 3),
        ("count", "method", 22, 30, 3),
        ("inner", "function", 28, 28, 7),
        ("Handle", "class", 32, 32, 3),
        ("companion", "class", 34, 37, 3),
        ("DEPTH", "property", 35, 35, 10),
        ("of", "method", 36, 36, 10),
        ("Point", "class", 40, 40, -1),
        ("Shape", "interface", 42, 45, -1),
        ("sides", "property", 43, 43, 14),
        ("area", "method", 44, 44, 14),
        ("Visitor", "interface", 47, 49, -1),
        ("visit", "method", 48, 48, 17),
        ("Colour", "enum", 51, 58, -1),
        ("half", "property", 55, 55, 19),
        ("twice", "method", 57, 57, 19),
        ("Registry", "class", 60, 62, -1),
        ("all", "property", 61, 61, 22),
        ("sell", "function", 64, 64, -1),
        ("empty", "constant", 66, 67, -1),
    ]


def test_kotlin_documentation_is_attached():
    assert docs(SOURCE, "kotlin") == {"LIMIT": "How many fit.", "Basket": "Holds fruit.", "count": "Counts."}


def test_kotlin_signatures_stop_at_the_body():
    assert signatures(SOURCE, "kotlin")["count"] == "override suspend fun count(query: Query): Int"


def test_kotlin_imports_are_listed():
    assert parse_outline(SOURCE, "kotlin").imports == ("import shop.fruit.Apple", "import shop.tools.*")


def test_kotlin_references_are_calls_and_types():
    used = references(SOURCE, "kotlin")
    assert used >= {"Buyer", "Holder", "Query", "Serializable", "Tree", "helper", "listOf", "pay", "walk"}
    assert not used & {"local", "size"}


def test_kotlin_broken_source_keeps_what_can_be_read():
    source = "fun before() {}\nfun broken( {\n"
    assert parse_outline(source, "kotlin").broken
    assert "before" in [name for name, *_ in rows(source, "kotlin")]
    assert not parse_outline(SOURCE, "kotlin").broken
