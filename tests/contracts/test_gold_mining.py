"""`assay gold mine` and `synth`: proposals of every source on one small repository, and rejected calls."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import assay
from tests.contracts.calling import call
from tests.contracts.gold import Repository, gold, isolate, transcripts, write_tree
from tests.contracts.snapshot import check, masked, substituted
from tests.serving import Reply, in_turn, serving

NET = '''\
"""Calls to other machines."""


class Backoff:
    """Waiting times that grow with every failure."""

    def __init__(self, first):
        self.first = first
        self.failures = 0

    def next_wait(self):
        """Compute how long to wait before a failed download is tried again."""
        self.failures += 1
        return self.first * 2**self.failures


class Transport:
    """Send bytes to a machine and read the answer."""

    def send_request(self, body):
        """Write the body to the socket and wait for the reply."""
        self.socket.sendall(body)
        return self.socket.recv(4096)

    def close_idle_connections(self, seconds):
        for connection in self.pool:
            if connection.age > seconds:
                connection.close()


class TlsTransport(Transport):
    def send_request(self, body):
        """Encrypt the body with the session key before it is written."""
        return super().send_request(self.session.encrypt(body))


class FakeTransport(Transport):
    def send_request(self, body):
        return b"reply to the body"


def fetch_archive(url, transport):
    """Download an archive and unpack its members into the cache folder."""
    reply = transport.send_request(url.encode())
    return unpack_members(reply)


def unpack_members(data):
    members = []
    for name in data.split():
        members.append(name)
    return members
'''
STORE = '''\
def read_entry(path):
    """Read one entry of the cache from a file below the main folder."""
    with open(path) as file:
        return file.read()


def report_damage(entries):
    """Write a list of damaged entries and mail it to keeper@example.org every evening."""
    damaged = [entry for entry in entries if not entry.readable]
    return damaged


# Waits for the lock of the store to be released by another process.
def next_wait(lock):
    lock.acquire()
    lock.release()
    return lock
'''
TESTS = """\
from pkg.net import Backoff


def test_next_wait_grows_with_failures():
    wait = Backoff(1)  # how long another download waits that failed before
    assert wait.next_wait() < wait.next_wait()
"""
GUIDE = """\
# Guide

## Waiting between two attempts

The class `Backoff` decides how long a caller waits.

## Downloads

Use `fetch_archive` to download and unpack a remote archive of members.

## Other

`read_entry` returns the text of one cached entry.
"""
FILES = {"pkg/net.py": NET, "pkg/store.py": STORE, "tests/test_net.py": TESTS, "docs/guide.md": GUIDE}

GOLD = """\
assay: 1
name: small
corpus: {path: code}
queries:
  - id: wait
    retrieval: {primary: ["pkg/net.py::Backoff.next_wait"]}
    cognitive: {human: how long does the client wait for another process before a failed download is tried?}
  - id: send
    retrieval: {primary: ["pkg/net.py::Transport.send_request"]}
    cognitive: {keyword: socket reply body}
"""

#: A set whose query shares its words with code other than the target.
CONFUSING = """\
assay: 1
name: small
corpus: {path: code}
queries:
  - id: pause
    retrieval: {primary: ["pkg/net.py::Backoff.__init__"]}
    cognitive: {human: which code unpacks the members of an archive into the cache folder?}
"""

SHELLS = {
    "bash_history": "rg 'failed download'\nvim code/pkg/net.py\n#1700000000\nrg somewhere_else\n"
    "grep 'password=hunter2hunter2' -r .\nvim code/pkg/store.py\n",
    "zsh_history": ": 1700000000:0;git log -S'read_entry'\n: 1700000001:0;sed -n 1,4p code/pkg/store.py\n",
    "fish_history": "- cmd: assay search 'how are members unpacked'\n  when: 1700000000\n"
    "- cmd: vim +45 code/pkg/net.py\n  when: 1700000001\n",
}
TRANSCRIPTS: dict[str, list[dict[str, Any]]] = {
    # in the formats of Claude Code and Codex
    "claude.jsonl": [
        {"message": {"role": "user", "content": "where do we encrypt the body with the session key?"}},
        {"name": "Grep", "input": {"pattern": "encrypt"}},
        {"name": "Read", "input": {"file_path": "/home/somebody/code/pkg/net.py", "offset": 33}},
        {"message": {"role": "user", "content": "which colour does the logo have?"}},
    ],
    "codex.jsonl": [
        {"type": "user_message", "message": "how is the lock of the store released?"},
        {
            "type": "function_call",
            "name": "shell",
            "arguments": '{"command": ["bash", "-lc", "cat code/pkg/store.py"]}',
        },
    ],
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """A repository with an initial commit, a fix, uninformative commits and a merged pull request."""
    repository = Repository(tmp_path_factory.mktemp("mined") / "code")
    early = NET.replace("        self.failures += 1\n", "").replace("2**self.failures", "2")
    repository.commit("Start", {**FILES, "pkg/net.py": early})
    repository.commit(
        "fix: waiting time of a failed download does not grow when it is tried again (#7)", {"pkg/net.py": NET}
    )
    repository.commit("Fix typos in the comments", {"pkg/store.py": STORE.replace("another", "an other")})
    repository.commit("wip", {"pkg/store.py": STORE})
    repository.git("checkout", "--quiet", "-b", "topic")
    stripped = STORE.replace("        return file.read()", "        return file.read().strip()")
    repository.commit("strip", {"pkg/store.py": stripped})
    repository.git("checkout", "--quiet", "main")
    title = "Strip blanks from the entry that is read from a cache file"
    message = f"Merge pull request #12 from ada/topic\n\n{title}\n\nMore words."
    repository.git("merge", "--quiet", "--no-ff", "--message", message, "topic", on=6)
    return repository.root


@pytest.fixture
def world(tmp_path, monkeypatch, repository) -> Path:
    """A copy of the repository in `code`, next to traces and a gold set, in the current directory."""
    root = isolate(monkeypatch, tmp_path)
    shutil.copytree(repository, root / "code")
    write_tree(root, SHELLS)
    lines = {name: "".join(json.dumps(one) + "\n" for one in entries) for name, entries in TRANSCRIPTS.items()}
    write_tree(root, {**lines, "gold.yaml": GOLD})
    return root


def mined(*arguments: str, set_name: str = "new.yaml") -> Any:
    called = gold("mine", "code", "--set", set_name, *arguments, "--json", "--quiet")
    assert called.code == 0, called.err
    return called.data


def recorded(name: str, data: Any) -> None:
    """Record the summary of the sources, and every proposal as a line of JSON."""
    text = "\n".join([json.dumps(data["sources"], indent=1, ensure_ascii=False), *lines(data["items"])])
    check(f"gold_mining/{name}.txt", without_port(text))


def lines(items: Iterable[object]) -> list[str]:
    """Return one line of JSON per proposal, without its date."""
    return [json.dumps(masked(item, ["on"]), ensure_ascii=False) for item in items]


def without_days(text: str) -> str:
    return substituted(text, {r"\d{4}-\d\d-\d\d": "DAY"})


def without_port(text: str) -> str:
    return substituted(text, {r"127\.0\.0\.1:\d+": "127.0.0.1:PORT"})


@pytest.mark.parametrize("source", ["history", "docs", "comments", "names"])
def test_source_of_the_repository(world, source):
    recorded(source, mined("--from", source))


def test_default_sources_as_text(world):
    check("gold_mining/default.txt", transcripts([("mine", "code", "--set", "new.yaml", "--dry-run")]))
    assert not Path("new.review").exists()


def test_seed_and_count_decide_what_is_drawn(world):
    drawn = {}
    for count, seed in (("1", "0"), ("1", "1"), ("2", "1")):
        data = mined("--from", "comments", "--dry-run", "--count", count, "--seed", seed)
        drawn[f"--count {count} --seed {seed}"] = [item["query"]["id"] for item in data["items"]]
    check("gold_mining/drawn.json", drawn)


@pytest.mark.parametrize("shell", SHELLS)
def test_shell_history(world, shell):
    recorded(shell, mined("--shell", shell))


@pytest.mark.parametrize("transcript", TRANSCRIPTS)
def test_transcript(world, transcript):
    recorded(transcript.removesuffix(".jsonl"), mined("--transcript", transcript))


def test_queue_on_disk_and_second_call(world):
    first = mined("--from", "docs,comments")
    queued = Path("new.review/items.jsonl").read_text("utf-8").splitlines()
    check("gold_mining/queue.txt", "\n".join(lines(map(json.loads, queued))))
    second = mined("--from", "docs,comments")
    assert second["items"] == []
    assert [source["known"] for source in second["sources"]] == [source["new"] for source in first["sources"]]


def test_mined_proposals_become_a_set(world):
    mined = gold("mine", "code", "--set", "new.yaml", "--from", "comments", "--json", "--quiet")
    items = [item["id"] for item in mined.data["items"]]
    votes = [f"--vote={item}={'reject' if item == items[-1] else 'accept'}" for item in items]
    for name in ("ann", "ben"):
        called = gold("review", "new.yaml", "--reviewer", name, "--corpus", "code", *votes, "--reason", "read it")
        assert called.code == 0, called.err
    accepted = gold("review", "new.yaml", "--accept", "--corpus", "code")
    check("gold_mining/new-set.txt", without_days(f"{accepted.transcript}\n{Path('new.yaml').read_text()}"))


def test_adversaries_by_name(world):
    recorded("adversaries", mined("--adversaries", set_name="gold.yaml"))


def test_adversaries_by_what_engines_confuse(world):
    write_tree(world, {"gold.yaml": CONFUSING})
    run = [
        "run",
        "--gold",
        "gold.yaml",
        "--engine",
        "a=builtin",
        "--engine",
        "b=keywords",
        "--out",
        "results",
        "--quiet",
    ]
    assert call(run, world, home=world.parent).code == 0
    recorded("confusions", mined("--adversaries", "--run", "results", set_name="gold.yaml"))


def test_phrasings_by_rules(world):
    recorded("phrasings", mined("--phrasings", set_name="gold.yaml"))


def answer(text: str) -> Reply:
    return Reply({"choices": [{"message": {"content": text}}]})


def test_phrasings_by_an_endpoint(world):
    replies = [
        "download retry delay",
        "Backoff.next_wait retry delay computation",
        "how long does the server wait for another process before a failed download is tried?",
        "mail ann@example.org",
        "",
    ]
    with serving(in_turn(*map(answer, replies))) as server:
        data = mined("--phrasings", "--endpoint", server.url, "--model", "m", set_name="gold.yaml")
    recorded("phrasings-endpoint", data)
    asked = [message["content"] for one in server.asked for message in one.payload["messages"][1:]]
    check("gold_mining/phrasings-asked.txt", "\n---\n".join(asked))


def test_queries_by_an_endpoint(world):
    good = {
        "human": "how long do we pause before a broken transfer is tried again?",
        "keyword": "transfer retry pause",
        "targets": ["pkg/net.py::Backoff.next_wait"],
        "why": "it computes the pause",
    }
    invented = {**good, "human": "which code resumes a transfer that was cut off?", "targets": ["pkg/net.py::nothing"]}
    with serving(in_turn(answer(json.dumps({"queries": [good, invented]})))) as server:
        data = mined("--propose", "--endpoint", server.url, "--model", "m")
    recorded("endpoint", data)
    [request] = server.asked
    assert (request.payload["model"], request.payload["temperature"]) == ("m", 0.0)
    check("gold_mining/endpoint-asked.txt", request.payload["messages"][1]["content"])


def test_refused_calls(world):
    new = ("mine", "code", "--set", "new.yaml", "--quiet")
    Path("binary").write_bytes(b"\0\1")
    calls = [
        (*new, "--from", "hystory"),
        (*new, "--from", "commits"),
        (*new, "--from", ","),
        (*new, "--count", "0"),
        (*new, "--run", "results"),
        (*new, "--propose"),
        (*new, "--propose", "--endpoint", "nowhere", "--model", "m"),
        (*new, "--adversaries"),
        (*new, "--shell", "binary"),
        (*new, "--transcript", "bash_history"),
        ("mine", "code", "--set", "new.csv", "--quiet"),
        ("mine", "code/pkg", "--set", "gold.yaml", "--quiet"),
    ]
    check("gold_mining/refused.txt", transcripts(calls))
    assert not Path("new.review").exists()


def test_synthetic_sets(world):
    called = gold("synth", "code", "--out", "synth", "--quiet")
    sets = {path.name: path.read_text("utf-8") for path in sorted(Path("synth").glob("*.yaml"))}
    check("gold_mining/synth.txt", "\n".join([called.transcript, *(f"=== {n}\n{text}" for n, text in sets.items())]))
    others = sorted(path.relative_to("synth").as_posix() for path in Path("synth").rglob("*") if path.is_file())
    check("gold_mining/synth-files.txt", "\n".join(others))
    # Comments that became queries are blanked in the copy that the queries run against.
    check("gold_mining/synth-blanked.txt", next(Path("synth").rglob("net.py")).read_text("utf-8"))
    assert [one.synthetic for one in assay.load_gold("synth").golds] == [True] * len(sets)


def test_synthetic_sets_by_kind_count_and_seed(world):
    drawn = {}
    for kind, count, seed in (("doc", "2", "0"), ("doc", "2", "1"), ("symbol,keyword", "1", "0")):
        out = f"synth-{kind}-{count}-{seed}"
        called = gold(
            "synth", "code", "--out", out, "--kinds", kind, "--count", count, "--seed", seed, "--json", "--quiet"
        )
        assert called.code == 0, called.err
        suite = assay.load_gold(out)
        drawn[out] = [[query.headline for query in one.queries] for one in suite.golds]
    check("gold_mining/synth-drawn.json", drawn)


def test_refused_synthetic_sets(world):
    calls = [
        ("synth", "code", "--quiet", "--kinds", "docs"),
        ("synth", "code", "--quiet", "--count", "0"),
        ("synth", "code", "--quiet", "--out", "code"),
        ("synth", "nowhere", "--quiet"),
    ]
    check("gold_mining/synth-refused.txt", transcripts(calls).replace(str(world), "."))
