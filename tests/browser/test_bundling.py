"""Modules become one script, and what cannot be joined is refused with its name."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from importlib.resources import files
from pathlib import Path

import pytest

from assay.browser import bundling
from assay.browser.shell import page

ROOM = Path(str(files("assay.browser")))
LONGEST = 120  # letters, as in Python
PAGES = sorted(path.relative_to(ROOM).as_posix() for path in ROOM.glob("*/main.js"))


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Modules that exist in this test only."""
    made: dict[str, str] = {}
    monkeypatch.setattr(bundling, "read", made.__getitem__)
    return made


def _bundle(entry: str) -> str:
    """Join without what an earlier test left in memory."""
    return bundling.bundle.__wrapped__(entry)


def test_modules_stand_once_each_behind_what_they_import(modules: dict[str, str]) -> None:
    modules["page/main.js"] = 'import { a, twice } from "./a.js";\nimport { b } from "../common/b.js";\na(b, twice);\n'
    modules["page/a.js"] = (
        'import { b } from "../common/b.js";\nexport function a() { return b; }\nexport const twice = 2;\n'
    )
    modules["common/b.js"] = "export const b = 1;\n"
    made = _bundle("page/main.js")
    assert re.findall(r"^// (\S+)$", made, re.MULTILINE) == ["common/b.js", "page/a.js", "page/main.js"]
    assert "import" not in made
    assert "export" not in made
    assert made.index("const b = 1;") < made.index("function a()") < made.index("a(b, twice);")


@pytest.mark.parametrize(
    ("main", "other", "complaint"),
    [
        ('import { no } from "./b.js";', "export const yes = 1;", "main.js imports no, which b.js does not export"),
        (
            'import { b } from "./b.js";\nconst same = 1;',
            "const same = 2;\nexport const b = same;",
            "same is declared in b",
        ),
        (
            'import { b } from "./b.js";',
            'import { m } from "./main.js";\nexport const b = m;',
            "main.js imports itself",
        ),
        ('import b from "./b.js";', "", 'cannot be joined: import b from "./b.js";'),
        ("export default 1;", "", "cannot be joined: export default 1;"),
        ('import { b as c } from "./b.js";', "export const b = 1;", "main.js imports b as c, which"),
        ('export { b } from "./b.js";', "export const b = 1;", "cannot be joined: export { b }"),
    ],
)
def test_what_cannot_be_joined_is_refused(modules: dict[str, str], main: str, other: str, complaint: str) -> None:
    modules["main.js"], modules["b.js"] = main + "\n", other + "\n"
    with pytest.raises(bundling.BundleError, match=re.escape(complaint)):
        _bundle("main.js")


@pytest.mark.parametrize("entry", PAGES)
def test_every_page_of_the_room_can_be_joined_and_stand_in_html(entry: str) -> None:
    made = bundling.bundle(entry)
    assert f"// {entry}\n" in made
    assert not re.search(r"</script|<!--", made, re.IGNORECASE)  # would end the script, or its reading


def test_imports_that_are_folded_over_lines_are_joined_too(modules: dict[str, str]) -> None:
    modules["main.js"] = 'import {\n  one,\n  two,\n} from "./b.js";\none(two);\n'
    modules["b.js"] = "export function one() {}\nexport const two = 2;\n"
    made = _bundle("main.js")
    assert "import" not in made
    assert made.index("const two") < made.index("one(two)")


def test_no_line_is_longer_than_those_of_other_code() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (*ROOM.rglob("*.js"), *ROOM.rglob("*.css"))}
    long = [f"{path.name}:{n}" for path, text in texts.items() for n, line in _numbered(text) if len(line) > LONGEST]
    assert long == []


def _numbered(text: str) -> list[tuple[int, str]]:
    """Give lines with their numbers."""
    return list(enumerate(text.split("\n"), start=1))


def test_nothing_is_exported_that_nobody_imports() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in ROOM.rglob("*.js")}
    folded = [names for text in texts.values() for names in re.findall(r"^import \{([^}]*)\}", text, re.MULTILINE)]
    wanted = {name.strip() for names in folded for name in names.split(",")}
    exported = re.compile(r"^export (?:async )?(?:function|const|let|class) ([\w$]+)", re.MULTILINE)
    found = {path.name: [n for n in exported.findall(text) if n not in wanted] for path, text in texts.items()}
    assert {name: names for name, names in found.items() if names} == {}


def test_no_script_reads_text_as_markup_or_code() -> None:
    wrong = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"on"
    )
    found = {path.name: wrong.findall(path.read_text(encoding="utf-8")) for path in sorted(ROOM.rglob("*.js"))}
    assert {name: uses for name, uses in found.items() if uses} == {}
    assert len(found) > 20


def _page() -> bytes:
    """Make a page with a name that is no markup."""
    return page(title="<b>", script="explorer/main.js", styles=("base.css",), data={"summary": b'{"a": 1}'})


def test_a_page_allows_its_own_script_and_style_only_and_is_the_same_each_time() -> None:
    made = _page()
    assert made == _page()
    text = made.decode("utf-8")
    script = re.search(r'<script type="module">(.*)</script></body>', text, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    policy = re.search(r'Security-Policy" content="([^"]*)"', text)
    assert script
    assert style
    assert policy
    for name, body in (("script-src", script[1]), ("style-src", style[1])):
        digest = base64.b64encode(hashlib.sha256(body.encode("utf-8")).digest()).decode()
        assert f"{name} 'sha256-{digest}';" in policy[1]
    assert policy[1].startswith("default-src 'none';")
    assert "connect-src" not in policy[1]
    assert "<title>&lt;b&gt;</title>" in text
    block = re.search(r'id="data-summary">([^<]*)<', text)
    assert block
    assert gzip.decompress(base64.b64decode(block[1])) == b'{"a": 1}'


def test_the_list_of_runs_names_no_class_that_has_no_style() -> None:
    """Elsewhere a class may be a handle; here one without a style was a button that looked like none."""
    styles = "".join((ROOM / "styles" / name).read_text(encoding="utf-8") for name in ("base.css", "runs.css"))
    named = {
        name
        for path in (ROOM / "runs").glob("*.js")
        for names in re.findall(r'class: "([\w -]+)"', path.read_text(encoding="utf-8"))
        for name in names.split()
    }
    assert sorted(name for name in named if not re.search(rf"\.{name}(?![\w-])", styles)) == []
