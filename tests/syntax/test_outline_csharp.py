"""C# outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
using System;
using Fruit = Shop.Fruit;

namespace Shop.Core
{
    /// <summary>Holds fruit.</summary>
    [Serializable]
    public class Basket<T> : Holder<T>, IShape
    {
        // How many fit.
        private const int Limit = 3;
        public int Size { get; set; } = 0;
        public event EventHandler Changed;

        public Basket(int size) : base(size)
        {
        }

        ~Basket() { }

        /// <summary>Counts.</summary>
        [Obsolete]
        public async Task<int> Count(Query query)
        {
            var local = 1;
            int Inner() { return Helper(local); }
            return tree.Walk(new Visitor<T>(Inner))?.Total();
        }

        public T this[int i] => items[i];
        public static Basket<T> operator +(Basket<T> a, Basket<T> b) => a;
        public static implicit operator bool(Basket<T> a) => true;
        public int Half => Size / 2;

        private struct Handle { public int Id; }
    }

    public record Point(int X, int Y);
    public record struct Pixel(int X);

    public interface IShape
    {
        int Sides { get; }
        double Area();
    }

    public enum Colour { Red, Green }

    public delegate int Handler(int x);
}
"""


def test_csharp_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "csharp") == [
        ("Shop.Core", "module", 4, 50, -1),
        ("Basket", "class", 6, 36, 0),
        ("Limit", "property", 10, 11, 1),
        ("Size", "property", 12, 12, 1),
        ("Changed", "property", 13, 13, 1),
        ("Basket", "method", 15, 17, 1),
        ("Basket", "method", 19, 19, 1),
        ("Count", "method", 21, 28, 1),
        ("Inner", "function", 26, 26, 7),
        ("this", "property", 30, 30, 1),
        ("+", "method", 31, 31, 1),
        ("operator", "method", 32, 32, 1),
        ("Half", "property", 33, 33, 1),
        ("Handle", "class", 35, 35, 1),
        ("Id", "property", 35, 35, 13),
        ("Point", "class", 38, 38, 0),
        ("Pixel", "class", 39, 39, 0),
        ("IShape", "interface", 41, 45, 0),
        ("Sides", "property", 43, 43, 17),
        ("Area", "method", 44, 44, 17),
        ("Colour", "enum", 47, 47, 0),
        ("Handler", "type", 49, 49, 0),
    ]


def test_csharp_documentation_is_attached():
    assert docs(SOURCE, "csharp") == {
        "Basket": "<summary>Holds fruit.</summary>",
        "Limit": "How many fit.",
        "Count": "<summary>Counts.</summary>",
    }


def test_csharp_signatures_stop_at_the_body():
    assert signatures(SOURCE, "csharp")["Count"] == "public async Task<int> Count(Query query)"


def test_csharp_imports_are_listed():
    assert parse_outline(SOURCE, "csharp").imports == ("using System;", "using Fruit = Shop.Fruit;")


def test_csharp_references_are_calls_and_types():
    used = references(SOURCE, "csharp")
    assert used >= {"Helper", "Holder", "IShape", "Obsolete", "Serializable", "Total", "Visitor", "Walk"}
    assert not used & {"Size", "local"}


def test_csharp_broken_source_keeps_what_can_be_read():
    source = "class Before { }\nclass Broken { int F( }\n"
    assert parse_outline(source, "csharp").broken
    assert "Before" in [name for name, *_ in rows(source, "csharp")]
    assert not parse_outline(SOURCE, "csharp").broken
