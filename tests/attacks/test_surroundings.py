"""Full disks, read-only folders, no HOME, no TMPDIR; large trees and long lines; secrets everywhere."""

from __future__ import annotations

import base64
import os
import random
import shutil
import sys
from urllib.parse import quote

import pytest

from tests.attacks.outside import Attack, World, results, tree
from tests.attacks.test_kills import RUN

COMMANDS = (
    RUN, ("index", "--rebuild"), ("search", "total"), ("gold", "review", "gold.yaml", "--queue-labels"), ("gold", "lint", "gold.yaml"),
    ("ledger", "add", "results", "--engine", "builtin", "--baseline", "keywords", "--allow-duplicate"),
    ("gate", "results", "--write-baseline", "baseline.json"), ("gold", "reanchor", "gold.yaml", "--digest", "--in-place"),
    ("report", "results"), ("cache", "prune", "--older-than", "0h"), ("gold", "split", "gold.yaml", "--sealed", "0"),
)  # fmt: skip


def test_full_disk(world: World, attack: Attack) -> None:
    """A limit on the size of files stands for the disk: writes fail in the middle."""
    assert world.assay(*RUN).code == 0
    cache = world.base / "cache"
    for limit in (0, 100, 2_000, 10_000, 100_000):
        for command in COMMANDS:
            before = tree(world.repo, ".lock", "timings.json")
            if command is RUN:
                shutil.rmtree(cache, ignore_errors=True)
            done = world.assay(*command, wrap=["prlimit", f"--fsize={limit}"])
            attack.expect(done.sound, f"{limit} {command}: {done}")
            if done.code:
                after = tree(world.repo, ".lock", "timings.json")
                lost = [name for name, data in before.items() if not after.get(name, b"").startswith(data[:50])]
                attack.expect(not lost, f"{limit} {command} damaged {lost}")
        again = world.assay("gold", "lint", "gold.yaml")
        attack.expect(again.code in (0, 1), f"after {limit}: {again}")
        done = world.assay(*RUN)
        attack.expect(done.code == 0 and world.assay("search", "total").code == 0, f"after {limit}: {done}")


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="NOT TESTED: mounts need root")
def test_read_only_folders_and_a_small_disk(world: World, attack: Attack) -> None:
    assert world.assay(*RUN).code == 0
    for mounted in ("repo", "cache", "home"):
        place = world.base / mounted
        place.mkdir(exist_ok=True)
        mounts = {
            "read-only": f"mount --bind {place} {place} && mount -o remount,ro,bind {place}",
            "small": f"mount -t tmpfs -o size=40k none {place}",
        }
        for kind, mount in mounts.items():
            if kind == "small" and mounted == "repo":
                continue
            for command in COMMANDS:
                shell = ["unshare", "--mount", "sh", "-c", f'{mount} && cd {world.repo} && exec "$@"', "sh"]
                done = world.assay(*command, wrap=shell)
                attack.expect(done.sound, f"{kind} {mounted} {command}: {done}")
                if mounted == "home":
                    attack.expect(done.code in (0, 1, 2), f"{kind} {mounted} {command}: {done}")


def test_no_home_and_no_temporary_folder(world: World, attack: Attack) -> None:
    surroundings: list[dict[str, str | None]] = [
        {"HOME": None}, {"HOME": "/nonexistent"}, {"HOME": ""}, {"HOME": "/dev/null"}, {"TMPDIR": "/nonexistent"}, {"TMPDIR": ""},
        {"TMPDIR": "/dev/null"}, {"HOME": None, "ASSAY_CACHE_DIR": None, "XDG_CACHE_HOME": None}, {"ASSAY_CACHE_DIR": "/dev/null/x"},
        {"HOME": "/nonexistent", "ASSAY_CACHE_DIR": None}, {"PATH": "/nonexistent"}, {"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "xx_YY"},
        {"PYTHONIOENCODING": "ascii"}, {"COLUMNS": "0"}, {"COLUMNS": "x"}, {"TERM": None}, {"TZ": "nowhere"}, {"ASSAY_CACHE_DIR": ""},
        {"ASSAY_CACHE_DIR": "relative"}, {"USER": None, "LOGNAME": None}, {"SOURCE_DATE_EPOCH": "x"}, {"XDG_CACHE_HOME": "relative"},
    ]  # fmt: skip
    for variables in surroundings:
        env = world.env(**variables)
        commands = (RUN, ("index",), ("search", "total"), ("cache",), ("gold", "lint", "gold.yaml"))
        for command in (("doctor",), *commands) if "HOME" in variables else commands:
            done = world.assay(*command, env=env, fork=False)
            attack.expect(done.sound, f"{variables} {command}: {done}")
        shutil.rmtree(world.repo / "relative", ignore_errors=True)


def test_deleted_working_directory(world: World, attack: Attack) -> None:
    for command in (
        ("index",),
        ("search", "x"),
        ("run",),
        ("gold", "lint", "gold.yaml"),
        ("engines",),
        ("--version",),
        ("mcp",),
    ):
        gone = world.base / "gone"
        gone.mkdir()
        done = world.assay(*command, wrap=["sh", "-c", f'cd {gone} && rmdir {gone} && exec "$@"', "sh"])
        attack.expect(done.sound, f"{command}: {done}")


def test_a_hundred_thousand_files(world: World, attack: Attack) -> None:
    for number in range(100_000):
        folder = world.repo / f"d{number // 1000}"
        if number % 1000 == 0:
            folder.mkdir()
        (folder / f"f{number}.py").write_text(f"def f{number}(): ...\n")
    done = world.assay("index", "--json", timeout=1_200)
    built = done.seconds
    attack.expect(done.code == 0 and '"files": 10000' in done.out, done)
    for command in (("index",), ("search", "f77777", "--json"), ("search", "f1", "--all", "--json", "--no-snippets")):
        done = world.assay(*command, timeout=600)
        attack.expect(done.code == 0 and done.seconds < built, f"{command} {built:.0f} s {done}")


def test_long_lines_and_deep_folders(world: World, attack: Attack) -> None:
    for name, unit in {
        "a.py": b"x",
        "b.js": b"f(x);",
        "c.json": b'{"a":',
        "d.md": b"word ",
        "e.txt": b"\xff",
        "f.rb": b"$ ",
    }.items():
        (world.repo / name).write_bytes(unit * (50_000_000 // len(unit)))
    place = world.repo
    for _ in range(300):
        place /= "deep"
    os.makedirs(place)
    (place / "x.py").write_text("def bottom(): ...\n")
    (world.repo / "shop" / ("n" * 250 + ".py")).write_text("x = 1\n")
    for command in (("index",), ("search", "bottom"), RUN):
        done = world.assay(*command, timeout=300, wrap=["prlimit", "--as=4000000000"])
        attack.expect(done.code == 0, f"{command} {done}")


SECRET = "sk-attack-9f8e7d6c5b4a39281706"
PLACES = (
    "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD", "DATABASE_AUTH_KEY", "CHAT_ACCESS", "PIP_INDEX_URL",
)  # fmt: skip


def test_tokens_are_in_no_byte_that_is_written(world: World, attack: Attack) -> None:
    """The tool prints every variable, in several encodings, on stdout and stderr, and fails with it."""
    tokens = {name: f"{SECRET}{number}" for number, name in enumerate(PLACES)}
    variables = tokens | {"PIP_INDEX_URL": f"http://me:{tokens['PIP_INDEX_URL']}@127.0.0.1:1/simple"}
    tool = world.base / "tool.py"
    base = (
        "import base64, json, os, sys, urllib.parse\n"
        f"values = [os.environ[name].rpartition('@')[0].rpartition(':')[2] or os.environ[name] for name in {PLACES!r}]\n"
        "values.append(os.environ['PIP_INDEX_URL'])\n"
        "forms = [f(v) for v in values for f in (str, json.dumps, lambda v: base64.b64encode(v.encode()).decode(), urllib.parse.quote)]\n"
    )
    ends = {
        "stdout": "print('shop/cart.py'); print('shop/' + forms[0])",
        "snippets": "print(json.dumps([{'path': 'shop/cart.py', 'snippet': form} for form in forms]))",
        "stderr": "print('shop/cart.py'); print(*forms, file=sys.stderr)",
        "failure": "sys.exit(' '.join(forms))",
        "malformed": "print('{', *forms)",
        "traceback": "raise ValueError(forms)",
        "paths": "print(*forms, sep='\\n')",
    }
    config = """
[engines.mine]
kind = "command"
argv = ["{python}", "{tool}", "{{query}}"]
env = {{ INNER = "{{env:MY_PASSWORD}}" }}

[engines.web]
kind = "http"
url = "http://127.0.0.1:1/search?q={{query}}"
headers = {{ Authorization = "Bearer {{env:GITHUB_TOKEN}}" }}

[engines.server]
kind = "mcp"
command = ["{python}", "{tool}", "--token", "{{env:DATABASE_AUTH_KEY}}"]
tool = "search"
arguments = {{ query = "{{query}}" }}
path = "results[].path"
env = {{ INNER = "{{env:MY_PASSWORD}}" }}

[search.index.description]
url = "http://127.0.0.1:1/v1"
model = "chat"
token_env = "CHAT_ACCESS"
"""
    (world.repo / "assay.toml").write_text(
        '[run]\ngold = ["gold.yaml"]\n' + config.format(python=sys.executable, tool=tool)
    )
    needles = [
        form.encode()
        for token in tokens.values()
        for form in (token, base64.b64encode(token.encode()).decode(), quote(token))
    ]
    for name, code in ends.items():
        tool.write_text(base + code + "\n")
        for flags in (
            ("run", "--timeout", "5"),
            ("score", "results", "--full"),
            ("doctor",),
            ("audit", "mine"),
            ("report", "results"),
            ("search", "total"),
            ("run", "--corpus", f"git:http://me:{tokens['GITHUB_TOKEN']}@127.0.0.1:1/a.git", "--engine", "keywords"),
            ("run", "--corpus", "pypi:absent==1", "--engine", "keywords"),
        ):
            done = world.assay(*flags, env=world.env(**variables), timeout=600)
            attack.expect(done.sound, f"{name} {flags} {done}")
            written = {"output": (done.out + done.err).encode()} | tree(world.base)
            for where, data in written.items():
                attack.expect(not any(needle in data for needle in needles), f"{name} {flags}: a token in {where}")


def test_random_flags(world: World, attack: Attack) -> None:
    """Commands and flags at random end with a documented exit code."""
    draw = random.Random(3)
    words = [
        "run", "search", "index", "gold", "lint", "review", "score", "compare", "gate", "show", "report", "plan", "audit", "cache",
        "ledger", "explain", "engines", "--json", "-q", "-k", "0", "-1", "99999999999", "nan", "--out", "results", "gold.yaml", "--set",
        "a.b=c", "--engine", "builtin", "=", "x=y:z", "--config", "nothing.toml", "--only", "*", "--seed", "1e9", "é", "\u202e", "", " ",
        "../..", "--measure", "nDCG@10", "nDCG@0", "P(", "--margin", "inf", "--jobs", "0", "--timeout", "-5", "--shard", "3/2", "@x",
    ]  # fmt: skip
    for _ in range(100):
        done = world.assay(*draw.choices(words, k=draw.randint(1, 6)), timeout=120)
        attack.expect(done.sound, done)


def test_a_run_writes_only_into_its_folders(world: World, attack: Attack) -> None:
    temporary = world.base / "tmp"
    temporary.mkdir()
    before = tree(world.base)
    assert world.assay(*RUN, env=world.env(TMPDIR=str(temporary))).code == 0
    new = sorted(set(tree(world.base)) - set(before))
    attack.expect(all(name.startswith(("repo/results/", "cache/")) for name in new), new)
    attack.expect(results(world), "no results")
