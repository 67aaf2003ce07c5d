"""What files define, on which lines."""

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.syntax.symbols import SUPPORTED, extract_symbols, find_enclosing, parse_problem
from assay.types import Symbol


def defined(source: str) -> list[tuple[str, str, int, int]]:
    """Give name, kind, start and end of each definition of a dedented source."""
    return [(s.name, s.kind, s.start, s.end) for s in extract_symbols("a.py", textwrap.dedent(source).strip("\n"))]


def test_symbols_names_scopes_and_kinds():
    source = """
    LIMIT = 3
    class Outer:
        size: int = 1
        def method(self):
            local = 2
            def inner():
                pass
            class Local:
                def deep(self): ...
        class Nested:
            x, (y, *z) = 1, (2, 3)
    async def run(): ...
    """
    assert [(name, kind) for name, kind, *_ in defined(source)] == [
        ("LIMIT", "constant"),
        ("Outer", "class"),
        ("Outer.size", "constant"),
        ("Outer.method", "method"),
        ("Outer.method.inner", "function"),
        ("Outer.method.Local", "class"),
        ("Outer.method.Local.deep", "method"),
        ("Outer.Nested", "class"),
        ("Outer.Nested.x", "constant"),
        ("Outer.Nested.y", "constant"),
        ("Outer.Nested.z", "constant"),
        ("run", "function"),
    ]


def test_symbols_spans_include_decorators_and_the_last_line():
    source = """
    import functools

    @functools.cache
    @other(
        1,
    )
    def f(
        a,
    ):
        return a
    """
    assert defined(source) == [("f", "function", 3, 10)]


def test_symbols_counts_repeated_names_in_file_order():
    source = """
    class A:
        @property
        def x(self): ...
        @x.setter
        def x(self, value): ...
        @x.deleter
        def x(self): ...
    """
    assert defined(source)[1:] == [("A.x", "method", 2, 3), ("A.x~2", "method", 4, 5), ("A.x~3", "method", 6, 7)]


def test_symbols_counts_a_qualified_name_over_two_classes_of_the_same_name():
    source = """
    if True:
        class A:
            def m(self): ...
    else:
        class A:
            def m(self): ...
            def n(self): ...
    """
    assert [name for name, *_ in defined(source)] == ["A", "A.m", "A~2", "A.m~2", "A.n"]


@pytest.mark.parametrize(
    "block",
    [
        "if a:\n    {}",
        "if a: pass\nelif b:\n    {}",
        "if a: pass\nelse:\n    {}",
        "try:\n    {}\nexcept E: pass",
        "try: pass\nexcept E:\n    {}",
        "try: pass\nexcept* E:\n    {}",
        "try: pass\nfinally:\n    {}",
        "for x in y:\n    {}",
        "while a:\n    {}",
        "with a:\n    {}",
        "match a:\n  case 1:\n    {}",
    ],
)
@pytest.mark.parametrize("definition", ["def f(): ...", "class f: ...", "f = 1"])
def test_symbols_sees_conditional_definitions(block, definition):
    assert [s.name for s in extract_symbols("a.py", block.format(definition))] == ["f"]


def test_symbols_leaves_attributes_subscripts_imports_and_augmented_assignments_out():
    assert defined("import os\na.b = 1\nc[0] = 2\nd += 3\nfor e in []: pass\n(g := 1)") == []


def test_symbols_gives_nothing_for_other_languages_and_says_nothing():
    assert extract_symbols("a.rs", "fn main() {}") == ()
    assert parse_problem("a.rs", "fn main() {}") is None
    assert ".py" in SUPPORTED


def test_symbols_survives_what_does_not_parse():
    for broken in ("def f(:\n", "x = 1\0", "(" * 5000, "\n".join(" " * n + "if x:" for n in range(200))):
        assert extract_symbols("a.py", broken) == ()
        assert parse_problem("a.py", broken)
    assert parse_problem("a.py", "x = 1\ndef f(:\n") == "line 2: invalid syntax"
    assert parse_problem("a.py", "x = 1\n") is None


def test_symbols_reads_a_long_chain_of_elif():
    chain = "if a: f0 = 1\n" + "".join(f"elif a == {n}: f{n} = 1\n" for n in range(1, 900))
    found = extract_symbols("a.py", chain)
    assert len(found) in (0, 900)  # a parser may refuse the depth, we may not crash on it
    assert found or parse_problem("a.py", chain)


def test_symbols_counts_lines_by_newline_only():
    source = "a = '''\x0c\x0b\u2028\x85'''\r\nb = 1 #\r hidden\nc = 2\n"
    assert [(s.name, s.start) for s in extract_symbols("a.py", source)] == [("a", 1), ("b", 2), ("c", 3)]


def test_symbols_drops_a_byte_order_mark_and_keeps_quiet_about_bad_escapes():
    assert [s.name for s in extract_symbols("a.py", "\ufeffa = '\\d'\n")] == ["a"]


NAMES = st.sampled_from(["a", "b", "C"])


@st.composite
def sources(draw: st.DrawFn, depth: int = 2) -> str:
    """Draw a small module of nested definitions."""
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        kind, name = draw(st.sampled_from(["class", "def", "const", "if"])), draw(NAMES)
        if kind == "const" or depth == 0:
            lines.append(f"{name} = 1")
            continue
        body = textwrap.indent(draw(sources(depth=depth - 1)), "    ")
        head = {"class": f"class {name}:", "def": f"def {name}():", "if": "if x:"}[kind]
        lines.append(f"{head}\n{body}")
    return "\n".join(lines)


@given(sources())
def test_symbols_are_sorted_unique_and_as_many_as_ast_walks(source):
    found = extract_symbols("a.py", source)
    assert list(found) == sorted(found)
    assert len({s.name for s in found}) == len(found)
    wanted = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    assert sum(s.kind != "constant" for s in found) == len(wanted)
    lines = source.split("\n")
    for symbol in found:
        last = symbol.name.rpartition(".")[2].partition("~")[0]
        assert last in lines[symbol.start - 1]


@given(sources(), st.data())
def test_enclosing_is_the_smallest_holder(source, data):
    found = extract_symbols("a.py", source)
    start = data.draw(st.integers(1, source.count("\n") + 1))
    end = data.draw(st.integers(start, source.count("\n") + 1))
    holders = [s for s in found if s.kind != "constant" and s.start <= start <= end <= s.end]
    best = find_enclosing(found, start, end)
    assert (best is None) == (not holders)
    if best is not None:
        assert all(best.start >= s.start and best.end <= s.end for s in holders)


def test_enclosing_never_gives_a_constant():
    table = (Symbol(1, 9, "A", "class"), Symbol(2, 4, "A.TABLE", "constant"))
    found = find_enclosing(table, 3, 3)
    assert found is not None
    assert found.name == "A"


def test_exported_class_and_getter_have_their_own_names():
    text = (
        "module.exports = class Application {\n  use (fn) { return this }\n}\n"
        "exports.Shop = class Store { buy () {} }\n"
        "module.exports = function createApp() { return 1 }\n"
        "defineGetter(req, 'protocol', function protocol(){ return 1 })\n"
    )
    for grammar in ("javascript", "typescript"):
        names = [symbol.name for symbol in extract_symbols("app.js", text, grammar)]
        assert names == ["Application", "Application.use", "Shop", "Shop.buy", "createApp", "protocol"]
