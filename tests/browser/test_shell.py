"""Modules joined into one script, and the page around it; no browser is needed here."""

import base64
import gzip
import hashlib
import re

import pytest

from assay.browser import bundling, shell
from assay.browser.bundling import BundleError, bundle


@pytest.fixture
def modules(monkeypatch):
    """Scripts and styles by name, in the place of those that ship."""
    known = {"styles/a.css": "p { color: red }"}
    monkeypatch.setattr(bundling, "read", known.__getitem__)
    monkeypatch.setattr(shell, "read", known.__getitem__)
    bundle.cache_clear()
    yield known
    bundle.cache_clear()


def test_what_is_imported_comes_first_and_once(modules):
    modules["x/main.js"] = 'import { a } from "./a.js";\nimport { b } from "../y/b.js";\nexport const c = a + b;\n'
    modules["x/a.js"] = 'import { b } from "../y/b.js";\nexport function a() { return b; }\n'
    modules["y/b.js"] = "export const b = 1;\n"
    joined = bundle("x/main.js")
    assert [line for line in joined.split("\n") if line.startswith("//")] == ["// y/b.js", "// x/a.js", "// x/main.js"]
    assert "import" not in joined
    assert "export" not in joined


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('import { a } from "./main.js";\nexport const a = 1;', "imports itself"),
        ('import { other } from "./a.js";', "does not export"),
        ('import { a as b } from "./a.js";', "does not export"),
        ('import "./a.js";', "cannot be joined"),
        ("export default 1;", "cannot be joined"),
        ('import { a } from "./a.js";\nconst a = 2;', "is declared in"),
        ('const text = "</SCRIPT>";', "would end"),
        ('const text = "<!-- x";', "would end"),
    ],
)
def test_what_cannot_be_joined_is_refused(modules, text, said):
    modules["main.js"], modules["a.js"] = text, "export const a = 1;\n"
    with pytest.raises(BundleError, match=said):
        bundle("main.js")


def made(modules, **settings):
    modules["main.js"] = "const é = 1;\n"
    given = {"title": "a < b", "script": "main.js", "styles": ["a.css"], "data": {}}
    return shell.page(**{**given, **settings}).decode()


def test_policy_lets_the_scripts_and_styles_of_the_page_run_and_nothing_else(modules):
    page = made(modules)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    for tag, pattern in (("script", r'<script type="module">(.*?)</script>'), ("style", r"<style>(.*?)</style>")):
        (text,) = re.findall(pattern, page, re.DOTALL)
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy, tag
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert "connect-src 'self'" in made(modules, live=True)
    assert "<title>a &lt; b</title>" in page


def test_blocks_are_compressed_once_and_alike(modules):
    value = b"</script>" * 50
    page = made(modules, data={"x": value})
    assert page == made(modules, data={"x": shell.packed(value)})
    (data,) = re.findall(r'id="data-x">([^<]+)<', page)
    assert gzip.decompress(base64.b64decode(data)) == value


def test_room_in_a_page_is_what_a_block_can_have(modules):
    bare = len(made(modules))
    for size in (bare + 100, bare + 101, bare + 102, bare + 103):
        room = shell.room_in(size - bare, "x")
        assert len(made(modules, data={"x": shell.Packed(b"a" * room)})) <= size
        assert len(made(modules, data={"x": shell.Packed(b"a" * (room + 3))})) > size
    assert shell.room_in(3, "x") == 0


def test_every_script_that_ships_can_be_joined():
    assert "openPage" in bundle("explorer/main.js")
