"""A small file of each language, with what its anchors are called and the lines they hold."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Sample:
    """A file and its symbols, written `name first last`, one a line."""

    path: str
    language: str
    source: str
    wanted: str

    @property
    def text(self) -> str:
        """The file."""
        return dedent(self.source).lstrip("\n")

    @property
    def rows(self) -> list[tuple[str, int, int]]:
        """The symbols."""
        rows = (line.rsplit(" ", 2) for line in dedent(self.wanted).strip().split("\n"))
        return [(name, int(first), int(last)) for name, first, last in rows]


SAMPLES = {
    "bash": Sample(
        "a.sh", "bash",
        """
        LIMIT=3
        # Copies.
        copy() {
            cp "$1" "$2"
        }
        """,
        """
        LIMIT 1 1
        copy 2 5
        """,
    ),
    "c": Sample(
        "a.c", "c",
        """
        #define LIMIT 3
        /* A basket. */
        struct basket {
            int size;
        };
        int count(struct basket *b);
        int count(struct basket *b) {
            return b->size;
        }
        """,
        """
        LIMIT 1 1
        basket 2 5
        basket.size 4 4
        count 6 6
        count~2 7 9
        """,
    ),
    "cpp": Sample(
        "a.cpp", "cpp",
        """
        namespace shop::fruit {
        class Basket {
            ~Basket();
            bool operator==(const Basket& other) const;
        };
        }
        // Counts.
        template <typename T>
        int shop::fruit::Basket<T>::count(int x) const {
            return x;
        }
        Shop& Shop::operator=(const Shop& other) { return *this; }
        Shop::Shop() {}
        """,
        """
        shop.fruit 1 6
        shop.fruit.Basket 2 5
        shop.fruit.Basket.~Basket 3 3
        shop.fruit.Basket.operator== 4 4
        shop.fruit.Basket.count 7 11
        Shop.operator= 12 12
        Shop.Shop 13 13
        """,
    ),
    "csharp": Sample(
        "a.cs", "csharp",
        """
        namespace Shop.Core {
            class Basket<T> {
                public int Size { get; set; }
                /// Adds.
                public static Basket<T> operator +(Basket<T> a, Basket<T> b) => a;
            }
        }
        """,
        """
        Shop.Core 1 7
        Shop.Core.Basket 2 6
        Shop.Core.Basket.Size 3 3
        Shop.Core.Basket.+ 4 5
        """,
    ),
    "css": Sample(
        "a.css", "css",
        """
        .cart, #total > p {
            color: red;
        }
        @media (min-width: 1px) {
            a:hover { color: blue; }
        }
        """,
        """
        %2Ecart,_#total_>_p 1 3
        (min-width%3A_1px) 4 6
        (min-width%3A_1px).a%3Ahover 5 5
        """,
    ),
    "dart": Sample(
        "a.dart", "dart",
        """
        class Cart {
          Cart.empty();
          bool operator ==(Object other) => true;
        }
        extension Sizes on Cart {
          int twice() => 2;
        }
        """,
        """
        Cart 1 4
        Cart.empty 2 2
        Cart.== 3 3
        Cart~2 5 7
        Cart.twice 6 6
        """,
    ),
    "elixir": Sample(
        "a.ex", "elixir",
        """
        defmodule Shop.Cart do
          @doc "Adds."
          def add(cart, 1), do: cart
          def add(cart, _), do: cart

          defmodule Line do
            def new, do: 1
          end
        end
        """,
        """
        Shop.Cart 1 9
        Shop.Cart.add 2 4
        Shop.Cart.Line 6 8
        Shop.Cart.Line.new 7 7
        """,
    ),
    "go": Sample(
        "a.go", "go",
        """
        package shop

        // Basket holds.
        type Basket[T any] struct {
            Size int
        }

        // Count counts.
        func (b *Basket[T]) Count() int {
            type inner struct{ y int }
            return b.Size
        }

        func (Basket[T]) String() string { return "" }

        func Count() {}
        """,
        """
        Basket 3 6
        Basket.Size 5 5
        Basket.Count 8 12
        Basket.Count.inner 10 10
        Basket.Count.inner.y 10 10
        Basket.String 14 14
        Count 16 16
        """,
    ),
    "haskell": Sample(
        "a.hs", "haskell",
        """
        module Shop where
        -- | Joins.
        (<+>) :: Int -> Int -> Int
        a <+> b = a + b

        x .: y = x
        class Sized a where
          size :: a -> Int
        instance Sized (a, b) where
          size _ = 2
        """,
        """
        <+> 2 4
        %2E%3A 6 6
        Sized 7 8
        Sized.size 8 8
        (a,_b) 9 10
        (a,_b).size 10 10
        """,
    ),
    "html": Sample(
        "a.html", "html",
        """
        <main id="cart">
        <h1>Your cart</h1>
        </main>
        """,
        """
        cart 1 3
        cart.Your_cart 2 2
        """,
    ),
    "java": Sample(
        "A.java", "java",
        """
        class Basket<T> {
            Basket() {}
            Basket(int size) {}
            /** Counts. */
            @Override
            int count() { return 1; }
            interface Shape { double area(); }
        }
        """,
        """
        Basket 1 8
        Basket.Basket 2 2
        Basket.Basket~2 3 3
        Basket.count 4 6
        Basket.Shape 7 7
        Basket.Shape.area 7 7
        """,
    ),
    "javascript": Sample(
        "a.js", "javascript",
        """
        class Basket {
          #owner;
          get total() { return 1; }
        }
        app.prototype.use = () => {};
        exports.fetch = function fetch() {};
        const tools = {
          'close-all': () => {},
        };
        """,
        """
        Basket 1 4
        Basket.#owner 2 2
        Basket.total 3 3
        app.use 5 5
        fetch 6 6
        tools 7 9
        tools.close-all 8 8
        """,
    ),
    "json": Sample(
        "a.json", "json",
        """
        {
          "build": {"steps": [1]},
          "a b": 1
        }
        """,
        """
        build 2 2
        build.steps 2 2
        a_b 3 3
        """,
    ),
    "kotlin": Sample(
        "a.kt", "kotlin",
        """
        class Basket<T>(val size: Int) {
            companion object {
                fun of() = Basket<Int>(1)
            }
        }

        // Sells.
        fun <T> Basket<T>.sell(to: Buyer): T = to.pay(this)
        val Basket<*>.empty: Boolean get() = size == 0
        fun String?.blank() = this == null
        """,
        """
        Basket 1 5
        Basket.companion 2 4
        Basket.companion.of 3 3
        Basket.sell 7 8
        Basket.empty 9 9
        String.blank 10 10
        """,
    ),
    "lua": Sample(
        "a.lua", "lua",
        """
        local M = {}
        function M.shop.total(cart) return 1 end
        function M:close() end
        M.later = function() end
        """,
        """
        M 1 1
        M.shop.total 2 2
        M.close 3 3
        M.later 4 4
        """,
    ),
    "php": Sample(
        "a.php", "php",
        """
        <?php
        class Cart {
            const MIN = 1;
            /** Adds. */
            public function add(): void {}
        }
        function total() {}
        """,
        """
        Cart 2 6
        Cart.MIN 3 3
        Cart.add 4 5
        total 7 7
        """,
    ),
    "python": Sample(
        "a.py", "python",
        """
        class A:
            # not part of it
            @property
            def x(self): ...
            @x.setter
            def x(self, value): ...
        """,
        """
        A 1 6
        A.x 3 4
        A.x~2 5 6
        """,
    ),
    "ruby": Sample(
        "a.rb", "ruby",
        """
        module Geometry::Shapes
          class Circle
            def self.unit = 1
            # Asks.
            def hidden?; end
          end
        end
        """,
        """
        Geometry.Shapes 1 7
        Geometry.Shapes.Circle 2 6
        Geometry.Shapes.Circle.unit 3 3
        Geometry.Shapes.Circle.hidden? 4 5
        """,
    ),
    "rust": Sample(
        "a.rs", "rust",
        """
        /// A point.
        #[derive(Debug)]
        pub struct Point<T> { x: T }
        impl<T> Point<T> {
            fn new() -> Self { Self }
        }
        impl<T> fmt::Display for Point<T> {
            fn fmt(&self) -> fmt::Result { Ok(()) }
        }
        impl fmt::Debug for Point<u8> {
            fn fmt(&self) -> fmt::Result { Ok(()) }
        }
        mod tests {
            fn works() {}
        }
        """,
        """
        Point 1 3
        Point~2 4 6
        Point.new 5 5
        Point~3 7 9
        Point.fmt 8 8
        Point~4 10 12
        Point.fmt~2 11 11
        tests 13 15
        tests.works 14 14
        """,
    ),
    "scala": Sample(
        "a.scala", "scala",
        """
        class Basket[T] {
          def ++(other: Basket[T]): Basket[T] = this
        }
        object Basket {
          def empty[T] = 1
        }
        """,
        """
        Basket 1 3
        Basket.++ 2 2
        Basket~2 4 6
        Basket.empty 5 5
        """,
    ),
    "sql": Sample(
        "a.sql", "sql",
        """
        CREATE TABLE shop.buyers (id int);
        CREATE VIEW recent AS SELECT 1;
        """,
        """
        shop.buyers 1 1
        recent 2 2
        """,
    ),
    "swift": Sample(
        "a.swift", "swift",
        """
        struct Basket {
            init() {}
            // Compares.
            static func == (left: Basket, right: Basket) -> Bool { true }
        }
        extension Basket {
            func sum() -> Int { 1 }
        }
        """,
        """
        Basket 1 5
        Basket.init 2 2
        Basket.== 3 4
        Basket~2 6 8
        Basket.sum 7 7
        """,
    ),
    "toml": Sample(
        "a.toml", "toml",
        """
        title = "shop"
        [build.steps]
        one = 1
        ["quoted key"]
        """,
        """
        title 1 1
        build.steps 2 3
        quoted_key 4 4
        """,
    ),
    "tsx": Sample(
        "a.tsx", "typescript",
        """
        interface Props { label: string }
        export const Button = ({ label }: Props) => <b>{label}</b>;
        """,
        """
        Props 1 1
        Props.label 1 1
        Button 2 2
        """,
    ),
    "typescript": Sample(
        "a.ts", "typescript",
        """
        export namespace Shop {
          export function open(): void {}
        }
        declare module 'fruit' {
          export function peel(): void;
        }
        function overload(a: string): void;
        function overload(a: any) {}
        """,
        """
        Shop 1 3
        Shop.open 2 2
        fruit 4 6
        fruit.peel 5 5
        overload 7 7
        overload~2 8 8
        """,
    ),
    "yaml": Sample(
        "a.yaml", "yaml",
        """
        jobs:
          test:
            steps: 1
        on: push
        """,
        """
        jobs 1 3
        jobs.test 2 3
        on 4 4
        """,
    ),
    "zig": Sample(
        "a.zig", "zig",
        """
        const Point = struct {
            fn init() Point {}
        };
        test "makes a point" {}
        """,
        """
        Point 1 3
        Point.init 2 2
        makes_a_point 4 4
        """,
    ),
}  # fmt: skip
