"""Elixir outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = '''\
defmodule Shop.Cart do
  use GenServer
  alias Shop.{Item, Price}
  @moduledoc """
  Keeps items.
  """
  @timeout 5
  @type t :: map

  @callback total(t) :: integer

  # Checked by hand.
  @doc "Adds one."
  @spec add(t, Item.t()) :: t
  def add(cart, item) when is_map(cart) do
    count = Price.of(item)
    store(cart, count)
  end

  defp store(cart, _), do: cart
  defmacro twice(x) do
    quote do: unquote(x) * 2
  end

  defguard is_big(x) when x > 10
  defdelegate size(cart), to: Map
  def empty, do: %{}

  defmodule Line do
    def new, do: 1
  end
end

defprotocol Shop.Sized do
  @doc "Measures."
  def size(x)
end

defimpl Shop.Sized, for: Shop.Cart do
  def size(x), do: x
end
'''


def test_elixir_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "elixir") == [
        ("Shop.Cart", "module", 1, 32, -1),
        ("t", "type", 8, 8, 0),
        ("total", "function", 10, 10, 0),
        ("add", "function", 12, 18, 0),
        ("store", "function", 20, 20, 0),
        ("twice", "macro", 21, 23, 0),
        ("is_big", "macro", 25, 25, 0),
        ("size", "function", 26, 26, 0),
        ("empty", "function", 27, 27, 0),
        ("Line", "module", 29, 31, 0),
        ("new", "function", 30, 30, 9),
        ("Shop.Sized", "interface", 34, 37, -1),
        ("size", "method", 35, 36, 11),
        ("Shop.Cart", "class", 39, 41, -1),
        ("size", "method", 40, 40, 13),
    ]


def test_elixir_documentation_attributes_are_read():
    found = docs(SOURCE, "elixir")
    assert "Keeps items." in found["Shop.Cart"]
    assert found["add"].startswith("Checked by hand.")
    assert "Adds one." in found["add"]
    assert "Measures." in found["size"]
    assert "store" not in found


def test_elixir_a_function_directly_below_a_moduledoc_does_not_take_it():
    source = 'defmodule A do\n  @moduledoc "About A."\n  def f, do: 1\nend\n'
    assert rows(source, "elixir") == [("A", "module", 1, 4, -1), ("f", "function", 3, 3, 0)]
    assert list(docs(source, "elixir")) == ["A"]


def test_elixir_signatures_stop_at_the_body():
    assert signatures(SOURCE, "elixir")["add"] == "def add(cart, item) when is_map(cart)"


def test_elixir_imports_are_listed():
    assert parse_outline(SOURCE, "elixir").imports == ("use GenServer", "alias Shop.{Item, Price}")


def test_elixir_references_are_calls_and_modules():
    used = references(SOURCE, "elixir")
    assert {"Price", "of", "store", "is_map", "GenServer", "Map"} <= used
    assert "count" not in used


def test_elixir_broken_source_keeps_what_can_be_read():
    source = "defmodule A do\n  def good(a), do: a\n  def bad(\n"
    assert parse_outline(source, "elixir").broken
    assert rows(source, "elixir") == [("good", "function", 2, 2, -1)]
