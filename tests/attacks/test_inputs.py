"""Hostile gold sets, corpora, archives and patterns: an error with a hint, in bounded time and memory."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.outside import Attack, World, tree
from tests.corpus.serving import publish_html, publish_npm, serve

GOLD = """\
assay: 1
name: shop
corpus: {corpus}
queries:
  - id: {id}
    retrieval: {{primary: [{target}]}}
    cognitive: {{human: {human}}}
"""
#: Address space in bytes: a bomb that is expanded fails.
_LIMIT = ["prlimit", "--as=4000000000"]

BOMBS = {
    "aliases": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefghijklm", "bcdefghijklmn", strict=True)),
    "aliases in queries": "assay: 1\nname: x\ncorpus: {path: .}\nqueries: &q\n"
    "  - {id: a, retrieval: {primary: [shop/cart.py]}, cognitive: {human: b}}\n"
    + "".join(f"x{n}: &q{n} [{', '.join(['*q' if n == 0 else f'*q{n - 1}'] * 20)}]\n" for n in range(8)),
    "merge keys": "a0: &a0 {x: 1}\n" + "".join(f"a{n + 1}: &a{n + 1}\n  <<: [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(12)),
    "recursive": "&a [*a, *a]\n",
    "recursive keys": "&a {*a : 1}\n",
    "deep flow": "[" * 100_000,
    "deep closed flow": "[" * 5_000 + "]" * 5_000,
    "deep blocks": "".join(" " * n + "a:\n" for n in range(3_000)),
    "dashes": "- " * 50_000,
    "long scalar": "a: " + "x" * 20_000_000,
    "anchors": "".join(f"a{n}: &b{n} 1\n" for n in range(50_000)),
    "python tags": "!!python/object/apply:os.system ['touch pwned']\n",
    "python tuples": "assay: 1\nname: !!python/name:os.system\n",
    "numbers": "assay: " + "9" * 5_000 + "\nname: " + "1" * 100_000 + "\n",
    "base 60": "assay: " + ":".join(["59"] * 20_000) + "\n",
    "dates": "assay: 2024-99-99\n",
    "NUL": "assay: 1\0\n",
    "binary": "assay: !!binary '////'\n",
    "invalid UTF-8": "assay: \udcff\n",
    "surrogates": 'assay: 1\nname: "\\ud800"\n',
    "tabs": "assay:\t1\n\tname: x\n",
    "documents": "--- 1\n" * 10_000,
}  # fmt: skip


@pytest.mark.parametrize("form", ["yaml", "json", "jsonl", "toml"])
def test_bombs(world: World, attack: Attack, form: str) -> None:
    for name, text in BOMBS.items():
        path = world.repo / f"bomb.{form}"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        flags = ("run", "--config", path.name) if form == "toml" else ("gold", "lint", path.name)
        done = world.assay(*flags, timeout=120, wrap=_LIMIT)
        attack.expect(done.refused, f"{name}: {done}")
        path.unlink()
    attack.expect(not (world.repo / "pwned").exists(), "code of a gold file ran")


TRAVERSALS = (
    "../secret.txt", "/etc/passwd", "shop/../../secret.txt", "..", "shop/../..", "~/secret.txt", "C:\\secret.txt",
    "shop\\..\\..\\secret.txt", "%2e%2e/secret.txt", "out/secret.txt", "./../secret.txt", "shop//../../secret.txt",
    "file:///etc/passwd", "\\\\host\\share", "shop/\0", "link", "linked/secret.txt",
)  # fmt: skip


def test_traversal_in_gold_targets_and_paths(world: World, attack: Attack) -> None:
    secret = world.base / "secret.txt"
    secret.write_text("TOP-SECRET-CONTENT = 1\n")
    (world.repo / "link").symlink_to(secret)
    (world.repo / "linked").symlink_to(world.base)
    before = {name: data for name, data in tree(world.base).items() if not name.startswith(("repo", "cache", "home"))}
    for path in TRAVERSALS:
        quoted = json.dumps(path)
        for target in (quoted, json.dumps(f"{path}:1-1"), json.dumps(f"{path}::TOP")):
            text = GOLD.format(corpus="{path: .}", id="a", target=target, human="b c")
            (world.repo / "evil.yaml").write_text(text)
            for flags in (("gold", "lint", "evil.yaml"), ("run", "--gold", "evil.yaml", "--engine", "keywords", "-q")):
                done = world.assay(*flags)
                attack.expect(done.sound and "TOP-SECRET" not in done.out + done.err, f"{path} {done}")
            if "::" not in target and ":1" not in target:
                break
    for path in TRAVERSALS[:9]:
        for corpus in (
            f"{{path: {json.dumps(path)}, include: [{json.dumps(path)}]}}",
            f"{{path: ., exclude: [{json.dumps(path)}]}}",
        ):
            (world.repo / "evil.yaml").write_text(
                GOLD.format(corpus=corpus, id="a", target="shop/cart.py", human="b c")
            )
            done = world.assay("gold", "lint", "evil.yaml")
            attack.expect(done.sound, f"{corpus} {done}")
        text = GOLD.format(corpus="{path: .}", id=json.dumps(path), target="shop/cart.py", human="b c")
        text = text.replace("name: shop", f"name: {json.dumps(path)}")
        (world.repo / "evil.yaml").write_text(text)
        done = world.assay("run", "--gold", "evil.yaml", "--engine", f"{path}=keywords", "-q", "--out", "out")
        attack.expect(done.sound, f"{path} {done}")
        done = world.assay("search", "TOP SECRET", "--path", path)
        attack.expect(done.sound and "TOP-SECRET" not in done.out, f"{path} {done}")
    after = {name: data for name, data in tree(world.base).items() if not name.startswith(("repo", "cache", "home"))}
    attack.expect(after == before, f"files outside changed: {sorted(after)}")


def test_traversal_in_reviewers_run_files_ids_and_saved_runs(world: World, attack: Attack) -> None:
    (world.base / "secret.txt").write_text("TOP-SECRET-CONTENT = 1\n")
    (world.repo / "linked").symlink_to(world.base)
    assert world.assay("run", "--gold", "gold.yaml", "--engine", "keywords", "-q").code == 0
    assert world.assay("gold", "review", "gold.yaml", "--queue-labels").code == 0
    before = {name: data for name, data in tree(world.base).items() if not name.startswith(("repo/", "cache", "home"))}
    for path in (path for path in TRAVERSALS if "\0" not in path):
        (world.repo / "run.json").write_text(json.dumps({"cart-total": [{"path": path, "start": 1, "end": 1}]}))
        (world.repo / "run.trec").write_text(f"cart-total Q0 {path} 1 1.0 x\n")
        (world.repo / "qrels.txt").write_text(f"cart-total 0 {path} 1\n")
        for flags in (
            ("gold", "review", "gold.yaml", f"--reviewer={path}", "--list"),
            ("run", "--gold", "gold.yaml", "--engine", "a=runfile:run.json", "-q", "--out", "out"),
            ("run", "--gold", "gold.yaml", "--engine", "a=runfile:run.trec", "-q", "--out", "out"),
            ("show", "results", path), ("explain", "total", path), ("gold", "lint", "qrels.txt"), ("report", path),
        ):  # fmt: skip
            done = world.assay(*flags)
            attack.expect(done.sound and "TOP-SECRET" not in done.out + done.err, f"{path} {flags} {done}")
    page = world.repo / "out" / "report.html"
    attack.expect(not page.exists() or "TOP-SECRET" not in page.read_text(), "the report has a file from outside")
    after = {name: data for name, data in tree(world.base).items() if not name.startswith(("repo/", "cache", "home"))}
    attack.expect(after == before, f"files outside changed: {sorted(set(after) ^ set(before))}")


SPECS = (
    "git:--upload-pack=touch pwned", "git:-oProxyCommand=touch pwned", "git:ext::sh -c touch% pwned",
    "git:.@--output=pwned", "git:.@-n", "git:.@HEAD:../../..", "git:.@$(touch pwned)", "git:.@`touch pwned`",
    "git:ssh://-oProxyCommand=touch%20pwned/x", "git:file:///etc", "git:.@HEAD..HEAD~1", "git:.@@{u}", "git:",
    "git:@", "git:.@", "git:\0", "git:../../../../../../etc", "git:fd::0", "git:.@--help",
    "pypi:--index-url=http://127.0.0.1:1", "pypi:../../etc", "pypi:-r requirements.txt", "pypi:x==../../y", "pypi:",
    "pypi:http://127.0.0.1:1/x.tar.gz", "pypi:x @ file:///etc/passwd", "pypi:x; touch pwned", "pypi:.", "pypi:x[y",
    "npm:../../etc", "npm:--registry=http://127.0.0.1:1", "npm:..%2f..%2fetc", "npm:@a/../b", "npm:x@file:../..",
    "npm:x@git+ssh://a", "npm:", "npm:x@1 || touch pwned", "npm:@", "stdlib:../..", "stdlib:--", "path:../../..",
    "http://127.0.0.1:1/x", "ssh://a", "nothing:x", "", " ", "-", "--help",
)  # fmt: skip


def test_specs_with_options_and_traversal(world: World, attack: Attack) -> None:
    env = world.env(PIP_INDEX_URL="http://127.0.0.1:1/simple", npm_config_registry="http://127.0.0.1:1")
    for spec in SPECS:
        if "\0" not in spec:
            done = world.assay("run", "--gold", "gold.yaml", f"--corpus={spec}", "--engine", "keywords", "-q", env=env)
            attack.expect(
                done.refused or (done.sound and (not spec or spec.startswith(("git:.@", "path:", " ", "-")))),
                f"{spec} {done}",
            )
        (world.repo / "evil.yaml").write_text(
            GOLD.format(corpus=json.dumps(spec), id="a", target="shop/cart.py", human="b")
        )
        done = world.assay("gold", "lint", "evil.yaml", env=env)
        attack.expect(done.sound, f"{spec!r} {done}")
    attack.expect(not list(world.base.rglob("pwned")), "a command of a spec ran")


def archives(folder: Path) -> Iterator[tuple[str, Path]]:
    def info(name: str, **values: object) -> tarfile.TarInfo:
        member = tarfile.TarInfo(name)
        for key, value in values.items():
            setattr(member, key, value)
        return member

    members: dict[str, list[tuple[tarfile.TarInfo, bytes]]] = {
        "traversal": [(info("p-1/../../../evil"), b"x")],
        "absolute": [(info(str(folder / "evil")), b"x")],
        "link out": [(info("p-1/l", type=tarfile.SYMTYPE, linkname=str(folder)), b""), (info("p-1/l/evil"), b"x")],
        "hard link": [(info("p-1/h", type=tarfile.LNKTYPE, linkname="/etc/passwd"), b"")],
        "device": [(info("p-1/d", type=tarfile.CHRTYPE, devmajor=1, devminor=5), b"")],
        "fifo": [(info("p-1/f", type=tarfile.FIFOTYPE), b"")],
        "many": [(info("p-1/a"), b"")] * 400_000,
        "long name": [(info("p-1/" + "a" * 5_000), b"x")],
        "deep": [(info("p-1/" + "a/" * 1_900 + "f"), b"x")],
        "control": [(info("p-1/\x1b[31m\n.py"), b"x")],
        "twice": [(info("p-1/a"), b"1"), (info("p-1/a"), b"2"), (info("p-1/A"), b"3")],
        "directory as file": [(info("p-1/a"), b"1"), (info("p-1/a/b"), b"2")],
    }
    for name, files in members.items():
        path = folder / "p-1.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            for member, data in [*files, (info("p-1/PKG-INFO"), b"Metadata-Version: 2.1\nName: p\nVersion: 1\n")]:
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        yield f"tar {name}", path
    for name, data in {"bomb": b"\0" * 3_000_000_000, "traversal": b"x", "absolute": b"x", "quine": b""}.items():
        path = folder / "p-1.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            target = {"traversal": "p-1/../../../evil", "absolute": str(folder / "evil")}.get(name, "p-1/a.py")
            if name == "bomb":
                with zipped.open(target, "w", force_zip64=True) as stream:
                    for _ in range(300):
                        stream.write(b"\0" * 10_000_000)
            else:
                zipped.writestr(target, data)
            zipped.writestr("p-1/PKG-INFO", "Metadata-Version: 2.1\nName: p\nVersion: 1\n")
        yield f"zip {name}", path
    (folder / "p-1.tar.gz").write_bytes(b"\x1f\x8b" + b"garbage" * 100)
    yield "tar garbage", folder / "p-1.tar.gz"
    (folder / "p-1.tar.gz").write_bytes(b"")
    yield "tar empty", folder / "p-1.tar.gz"


def test_hostile_archives(world: World, attack: Attack) -> None:
    folder = world.base / "made"
    folder.mkdir()
    with serve() as site:
        env = world.env(
            PIP_INDEX_URL=f"{site.url}/simple", PIP_CONFIG_FILE="/dev/null", PIP_FIND_LINKS=None,
            npm_config_registry=site.url, npm_config_userconfig="/dev/null", npm_config_fetch_retries="0",
        )  # fmt: skip
        for name, archive in archives(folder):
            kinds = ["pypi:p==1"]
            publish_html(site, "p", [archive], hashes=False)
            if archive.suffix == ".gz" and name != "tar many" and shutil.which("npm"):
                publish_npm(site, "p", archive, "1.0.0")
                kinds.append("npm:p@1.0.0")
            for corpus in kinds:
                done = world.assay(
                    "run", "--gold", "gold.yaml", "--corpus", corpus, "--engine", "keywords", "-q", env=env, timeout=300
                )  # fmt: skip
                attack.expect(done.sound, f"{corpus} {name} {done}")
                find = ["find", str(world.base), "-name", "unpacked", "-prune", "-o", "-name", "evil", "-print"]
                outside = subprocess.run(find, check=True, capture_output=True, text=True).stdout
                attack.expect(not outside, f"{corpus} {name} wrote {outside}")
            archive.unlink()


PATTERNS = (
    "(a+)+$", "(a|aa)+$", r"(\w+\s?)+$", "(.*a){30}b", "(?:a{1,50})+$", "(a*)*(b)", r"(x+x+)+y", "((a|b)*c)*$", "a" * 100_000,
    "(" * 5_000, "[" * 1_000, "a{1000}{1000}{1000}", "(?P<n>a)(?P=n)*\\1+$", "(?=(a+))a*b\\1", ".*.*.*.*.*.*.*=.*",
)  # fmt: skip


def test_patterns_that_take_for_ever(world: World, attack: Attack) -> None:
    lines = ["a" * 5_000 + "!", "x" * 5_000, "ab" * 2_000 + "!", "a b " * 1_500 + "!"]
    (world.repo / "shop" / "long.py").write_text("\n".join(f"total = '{line}'" for line in lines))
    for pattern in PATTERNS:
        done = world.assay("search", "total", "--all", f"--regex={pattern}", timeout=120)
        attack.expect(done.sound and done.seconds < 10, f"{pattern[:80]} {done.seconds:.0f} s {done}")
    for stars in (10, 60):
        for glob in ("*" + "a*" * stars + "b", "**/" + "a/**/" * 3 + "b", "?*" * stars + "x", "[a-z]*" * stars + "!"):
            (world.repo / ("a" * 250)).write_text("x = 1\n")
            done = world.assay("search", "total", "--path", glob, timeout=60)
            attack.expect(done.sound, f"{glob} {done}")
            (world.repo / ".gitignore").write_text(f"{glob}\n/{glob}\n!{glob}/\n")
            done = world.assay("index", timeout=60)
            attack.expect(done.code == 0, f".gitignore {glob} {done}")
    (world.repo / ".gitignore").write_bytes(b"*\xff[\n" * 100_000)
    attack.expect(world.assay("index", timeout=120).sound, ".gitignore of 100,000 lines")
