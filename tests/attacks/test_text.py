"""HTML, scripts and control characters in every field: pages and terminals show them as text."""

from __future__ import annotations

import json
import re
import stat
import sys

from tests.attacks.outside import Attack, World

PAYLOADS = (
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)", "<!--", "]]>", "${alert(1)}", "\x1b[31mred\x1b]0;title\x07", "\x9b31m", "a\rb", "\u202etxt.exe",
    "|a|b|", "[x](javascript:alert(1))", "`code`", "\u2028", "=cmd|' /C calc'!A0", "{{7*7}}", "%s%n", "\\u003cscript\\u003e",
    "::error::x", "&lt;b&gt;",
)  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")
_TAGS = re.compile(r"<script>alert|<img src=x|href=\"?javascript:", re.IGNORECASE)


def _check(world: World, attack: Attack, what: str) -> None:
    for path in (world.repo / "results").rglob("*"):
        if path.suffix in (".html", ".md") and path.is_file():
            text = path.read_text(encoding="utf-8")
            attack.expect(not _TAGS.search(text) and "\x1b" not in text, f"{what}: {path.name} {_TAGS.search(text)}")


def test_markup_and_control_characters_in_gold(world: World, attack: Attack) -> None:
    for payload in PAYLOADS:
        text = json.dumps(payload + " total")
        gold = {
            "assay": 1, "name": "shop", "description": payload, "corpus": {"path": "."},
            "queries": [
                {
                    "id": "a", "retrieval": {"primary": ["shop/cart.py::Cart.total"]},
                    "cognitive": {"human": json.loads(text), "keyword": payload},
                    "interference": [
                        {"target": "shop/tax.py", "relationship": "sibling", "strength": "strong", "confusion": payload}
                    ],
                    "rationale": {"owner": payload, "reason": payload, "boundary": payload}, "tags": {"kind": payload},
                }
            ],
        }  # fmt: skip
        for field in ("none", "description", "id", "tags", "owner", "relationship", "name", "target", "confusion"):
            changed = json.loads(json.dumps(gold))
            query = changed["queries"][0]
            if field != "description":
                changed.pop("description")
            if field in ("id", "name"):
                (query if field == "id" else changed)[field] = payload
            if field == "tags":
                query["tags"] = {payload: payload}
            if field in ("relationship", "target"):
                query["interference"][0][field] = payload
            if field in ("owner", "none"):
                query.pop("rationale" if field == "none" else "interference")
            (world.repo / "evil.yaml").write_text(json.dumps(changed))
            done = world.assay("run", "--gold", "evil.yaml", "--engine", "keywords", "-q")
            attack.expect(done.sound and not _CONTROL.search(done.out + done.err), f"{field} {payload!r} {done!r}")
            if done.code == 0:
                _check(world, attack, f"{field} {payload!r}")
                for flags in (("score", "results", "--full"), ("show", "results", "a")):
                    shown = world.assay(*flags)
                    attack.expect(shown.sound and not _CONTROL.search(shown.out + shown.err), f"{flags} {shown!r}")
                break  # the payload is accepted where it is free text; the other fields are refused or shown alike


def test_markup_and_control_characters_in_output_names_and_paths(world: World, attack: Attack) -> None:
    tool = world.repo / "tool.py"
    for payload in PAYLOADS:
        name = payload.replace("/", "∕")[:100]
        (world.repo / "shop" / f"{name}.py").write_text(f"total = {payload!r}\n")
        tool.write_text(
            f"#!{sys.executable}\nimport json, sys\n"
            f"print(json.dumps([{{'path': 'shop/cart.py', 'snippet': {payload!r}}}, {{'path': {f'shop/{name}.py'!r}}}]))\n"
            f"print({payload!r}, file=sys.stderr)\n"
        )
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        command = f"command:{tool} {{query}}"
        for engine in (f"mine={command}", f"{payload}={command}"):
            done = world.assay("run", "--gold", "gold.yaml", "--engine", engine, "-q")
            attack.expect(done.sound and not _CONTROL.search(done.out + done.err), f"{payload!r} {done!r}")
            if done.code == 0:
                _check(world, attack, repr(payload))
        for flags in (("search", "total"), ("search", payload), ("index",), ("show", "results", payload)):
            done = world.assay(*flags)
            attack.expect(done.sound and not _CONTROL.search(done.out + done.err), f"{flags} {done!r}")
        tool.write_text(f"import sys\nsys.exit({payload!r})\n")
        done = world.assay("run", "--gold", "gold.yaml", "--engine", f"mine={command}", "-q")
        attack.expect(done.sound and not _CONTROL.search(done.out + done.err), f"{payload!r} {done!r}")
        (world.repo / "shop" / f"{name}.py").unlink()
