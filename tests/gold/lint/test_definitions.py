from dataclasses import replace

import pytest

from assay.corpus import open_corpus
from assay.gold.lint.rules import LintDependencies
from tests.gold.lint.world import codes, corpus_of, lint_all, messages, query

GO = {
    "chi.go": "package chi\n\n// Router is the set of routing methods.\ntype Router interface {\n\tUse(x int)\n}\n",
    "mux.go": "package chi\n\nvar _ Router = &Mux{}\n\ntype Mux struct{}\n\nfunc (mx *Mux) Use(x int) {}\n",
    "mux_test.go": "package chi\n\ntype Fixture struct{}\n",
}
RUST = {
    "core/src/extract.rs": "pub trait FromParts {\n    fn from_parts() -> Self;\n}\n",
    "web/src/extract.rs": "pub use core::extract::FromParts;\n\npub struct Wrapped;\n\nimpl FromParts for Wrapped {\n"
    "    fn from_parts() -> Self { Wrapped }\n}\n",
}


def symbol(text, *targets, **more):
    return query("q", text, *targets, tags={"category": "symbol"}, **more)


def test_symbol_that_is_defined_in_another_file_is_found(tmp_path):
    report = lint_all(corpus_of(tmp_path, GO), symbol("Router", "mux.go"))
    assert messages(report, "G201") == ["'Router' is defined in chi.go:4; mux.go does not define it"]


@pytest.mark.parametrize("targets", [["chi.go"], ["mux.go", "chi.go"]])
def test_symbol_whose_definition_is_labelled_is_no_finding(tmp_path, targets):
    assert not codes(lint_all(corpus_of(tmp_path, GO), symbol("Router", *targets)), "G2")


def test_undefined_symbol_is_no_finding(tmp_path):
    assert not codes(lint_all(corpus_of(tmp_path, GO), symbol("Sprocket", "mux.go")), "G2")


def test_definition_beside_the_code_is_no_home(tmp_path):
    asked = symbol("Fixture", "mux.go")
    assert not codes(lint_all(corpus_of(tmp_path / "test", GO), asked), "G2")
    moved = {path.replace("mux_test.go", "fixture.go"): text for path, text in GO.items()}
    assert codes(lint_all(corpus_of(tmp_path / "code", moved), asked), "G2") == ["G201"]


def test_method_of_that_name_elsewhere_is_no_home(tmp_path):
    files = {"a.py": "class A:\n    def Router(self):\n        return 1\n", "b.py": "def use(Router):\n    return 2\n"}
    assert not codes(lint_all(corpus_of(tmp_path, files), symbol("Router", "b.py")), "G2")


def test_plain_words_with_capitals_are_no_identifiers(tmp_path):
    files = {"a.py": "class Router:\n    x = 1\n", "b.py": "def use():\n    return 2\n"}
    report = lint_all(corpus_of(tmp_path, files), query("q", "Router for incoming things", "b.py"))
    assert not codes(report, "G2")


PARTS = {"a.py": "class BoxedRoute:\n    x = 1\n", "b.py": "def use():\n    return 2\n"}


@pytest.mark.parametrize("text", ["how BoxedRoute stores a route", "how does the BoxedRoute keep its type?"])
def test_identifier_that_a_question_is_about_is_found(tmp_path, text):
    assert codes(lint_all(corpus_of(tmp_path, PARTS), query("q", text, "b.py")), "G2") == ["G201"]


@pytest.mark.parametrize(
    "text",
    [
        "BoxedRoute and how routes are stored",
        "BoxedRoute that keeps its type",
        "how a route becomes a BoxedRoute",
        "how BoxedRoute is made",
        "how BoxedRoute gets called",
        "returns the current BoxedRoute, or nothing",
    ],
)
def test_identifier_that_only_takes_part_is_no_finding(tmp_path, text):
    assert not codes(lint_all(corpus_of(tmp_path, PARTS), query("q", text, "b.py")), "G2")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("b.rs", "impl BoxedRoute {\n    fn keep(&self) {}\n}\n"),
        ("b.go", "package b\n\nfunc (r *BoxedRoute) Keep() {}\n"),
        ("b.cpp", "int BoxedRoute::keep() {\n  return 1;\n}\n"),
        ("b.swift", "extension BoxedRoute {\n    func keep() {}\n}\n"),
    ],
)
def test_part_of_what_a_question_is_about_is_its_home(tmp_path, path, text):
    corpus = corpus_of(tmp_path, {"a.py": PARTS["a.py"], path: text})
    assert not codes(lint_all(corpus, query("q", "how BoxedRoute keeps a route", path)), "G2")


def test_name_of_a_product_is_not_what_is_asked(tmp_path):
    files = {"a.py": "class GraphThing:\n    x = 1\n", "b.py": "def use():\n    return 2\n"}
    asked = [query(f"q{n}", f"how GraphThing does the {word}", "b.py") for n, word in enumerate(("x", "y", "z"))]
    assert not codes(lint_all(corpus_of(tmp_path, files), *asked), "G2")


def test_name_of_a_folder_is_not_what_is_asked(tmp_path):
    files = {"graphthing/a.py": "class GraphThing:\n    x = 1\n", "b.py": "def use():\n    return 2\n"}
    asked = query("q", "how does GraphThing configure models", "b.py")
    assert not codes(lint_all(corpus_of(tmp_path, files), asked), "G2")


def test_definition_outside_the_corpus_is_found(tmp_path):
    corpus = corpus_of(tmp_path, RUST, include=["web/**"])
    whole = LintDependencies(whole=lambda: open_corpus(replace(corpus.spec, include=())))
    report = lint_all(corpus, symbol("FromParts", "web/src/extract.rs"), tools=whole)
    assert codes(report, "G2") == ["G202"]
    assert "core/src/extract.rs:1, outside the corpus" in messages(report, "G202")[0]


def test_definition_outside_is_not_looked_for_when_the_target_does_not_mention_it(tmp_path):
    corpus = corpus_of(tmp_path, RUST | {"web/src/other.rs": "pub struct Other;\n"}, include=["web/**"])
    whole = LintDependencies(whole=lambda: open_corpus(replace(corpus.spec, include=())))
    assert not codes(lint_all(corpus, symbol("FromParts", "web/src/other.rs"), tools=whole), "G2")


def test_implementation_is_no_definition(tmp_path):
    files = RUST | {"web/src/more.rs": "struct Local;\nimpl FromParts for Local {}\n"}
    report = lint_all(corpus_of(tmp_path, files), symbol("FromParts", "web/src/extract.rs"))
    assert messages(report, "G201") == [
        "'FromParts' is defined in core/src/extract.rs:1; web/src/extract.rs does not define it"
    ]


def test_name_with_a_sign_is_found(tmp_path):
    files = {
        "core.ts": "export interface $Shape {\n  x: number;\n}\n",
        "classic.ts": "export interface Shape {\n  y: number;\n}\n",
    }
    report = lint_all(corpus_of(tmp_path, files), symbol("Shape", "core.ts"))
    assert messages(report, "G201") == ["'Shape' is defined in classic.ts:1; core.ts does not define it, only '$Shape'"]


def test_specialisation_is_no_home(tmp_path):
    files = {
        "base.h": "#pragma once\ntemplate <typename T> struct writer {\n  int x;\n};\n",
        "more.h": '#include "base.h"\ntemplate <> struct writer<int> {\n  int y;\n};\n',
        "third.h": '#include "base.h"\nclass third {\n  int z;\n};\n',
    }
    report = lint_all(corpus_of(tmp_path, files), symbol("writer", "third.h"))
    assert messages(report, "G201") == ["'writer' is defined in base.h:2; third.h does not define it"]


def test_labels_on_documents_are_not_asked_for_definitions(tmp_path):
    files = {"a.py": "class BoxedRoute:\n    x = 1\n", "README.md": "# BoxedRoute\n\nIt boxes.\n"}
    assert not codes(lint_all(corpus_of(tmp_path, files), symbol("BoxedRoute", "README.md")), "G2")


def test_file_called_like_the_symbol_is_its_home(tmp_path):
    files = {"lib/response.js": "var res = Object.create(null)\nmodule.exports = res\n", "a.js": "class response {}\n"}
    assert "G201" not in codes(lint_all(corpus_of(tmp_path, files), symbol("response", "lib/response.js")))


def test_several_definitions_of_a_symbol_are_found(tmp_path):
    files = {"v3.ts": "export class Shape {\n  x = 1;\n}\n", "v4.ts": "export class Shape {\n  y = 1;\n}\n"}
    report = lint_all(corpus_of(tmp_path, files), symbol("Shape", "v4.ts"))
    assert messages(report, "G204") == ["'Shape' is defined in v4.ts:1 (labeled) and in v3.ts:1 (not labeled)"]


@pytest.mark.parametrize("more", [{"secondary": ["v3.ts"]}, {"adversaries": ["v3.ts"]}])
def test_several_definitions_that_are_all_spoken_for_are_no_finding(tmp_path, more):
    files = {"v3.ts": "export class Shape {\n  x = 1;\n}\n", "v4.ts": "export class Shape {\n  y = 1;\n}\n"}
    assert not codes(lint_all(corpus_of(tmp_path, files), symbol("Shape", "v4.ts", **more)), "G2")


def test_several_definitions_are_no_matter_where_more_than_the_name_is_asked(tmp_path):
    files = {"v3.ts": "export class OldShape {\n  x = 1;\n}\n", "v4.ts": "export class OldShape {\n  y = 1;\n}\n"}
    asked = query("q", "how OldShape computes its area", "v4.ts")
    assert not codes(lint_all(corpus_of(tmp_path, files), asked), "G2")


def test_declaration_in_a_header_is_no_second_definition(tmp_path):
    files = {
        "a.h": "int open_door(int key);\n",
        "a.c": '#include "a.h"\n\nint open_door(int key) {\n  return key;\n}\n',
    }
    corpus = corpus_of(tmp_path, files)
    assert not codes(lint_all(corpus, symbol("open_door", "a.c")), "G2")


def test_part_of_a_symbol_is_neither_its_home_nor_another(tmp_path):
    files = {
        "a.rs": "pub struct BoxedRoute;\n",
        "b.rs": "impl BoxedRoute {\n    fn keep(&self) {}\n}\n",
        "c.rs": "impl BoxedRoute {\n    fn drop(&self) {}\n}\n",
    }
    corpus = corpus_of(tmp_path, files)
    report = lint_all(corpus, symbol("BoxedRoute", "b.rs"))
    assert messages(report, "G201") == ["'BoxedRoute' is defined in a.rs:1; b.rs does not define it"]
    assert not codes(lint_all(corpus, symbol("BoxedRoute", "a.rs")), "G2")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.go", "package a\n\ntype Mux struct{}\n\nfunc (m *Mux) Router() int { return 1 }\n"),
        ("a.py", "def test():\n    class Router:\n        x = 1\n\n    return Router\n"),
        ("a.rs", "mod tests {\n    struct Router;\n}\n"),
        ("a.ts", "import { core } from './core';\nexport type Router = core.Router;\n"),
    ],
)
def test_namesake_is_no_home(tmp_path, path, text):
    corpus = corpus_of(tmp_path, {path: text, "b.py": "def use():\n    return 2\n"})
    assert not codes(lint_all(corpus, symbol("Router", "b.py")), "G2")
