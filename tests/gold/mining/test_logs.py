"""Shell histories and transcripts: what was searched for, and where it was found."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError
from assay.gold.mining.log_queries import find_questions, mine_shell, mine_transcript
from assay.gold.mining.logs import LoggedSearch, OpenedFile, parse_command, parse_pattern, read_shell, read_transcript
from tests.gold.mining.conftest import anchors


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("grep -rn 'retry_delay' src", [LoggedSearch("retry_delay", "keyword")]),
        ("grep -e one_name -e other_name .", [LoggedSearch("one_name other_name", "keyword")]),
        ("sudo rg -t py -C3 'def\\s+read_entry\\b' pkg", [LoggedSearch("read_entry", "keyword")]),
        ("FOO=1 rg --type rust 'fn (send|receive)_bytes'", [LoggedSearch("send receive bytes", "keyword")]),
        ("git -C x grep -n waiting", [LoggedSearch("waiting", "keyword")]),
        ("git log -S'next_wait' --oneline", [LoggedSearch("next_wait", "keyword")]),
        ("git log -G timeout.*socket", [LoggedSearch("timeout socket", "keyword")]),
        ("git log --oneline", []),
        ("find . -iname '*backoff*.py'", [LoggedSearch("backoff py", "keyword")]),
        ("fd -e py transport", [LoggedSearch("transport", "keyword")]),
        ("rg --files | fzf -q 'net tls'", [LoggedSearch("net tls", "keyword")]),
        (
            "semble search 'where is the cache written to disk' .",
            [LoggedSearch("where is the cache written to disk", "human")],
        ),
        ("assay index .", []),
        ("ck --sem 'error handling' src", [LoggedSearch("error handling", "keyword")]),
        ("uvx assay search --k 5 'how do downloads wait'", [LoggedSearch("how do downloads wait", "human")]),
        ("vim +12 pkg/net.py", [OpenedFile("pkg/net.py", 12)]),
        ("code -g pkg/net.py:9", [OpenedFile("pkg/net.py", 9)]),
        ("sed -n 10,20p pkg/net.py | less", [OpenedFile("pkg/net.py", 10)]),
        ("cat a.py b.py", [OpenedFile("a.py"), OpenedFile("b.py")]),
        ("rg foo_bar -l | xargs vim", [LoggedSearch("foo_bar", "keyword")]),
        ("grep '[a-z]*' x", []),
        ("rg TODO", []),
        ("grep -rnE 'TODO|FIXME' .", []),
        ("rg 'TODO: retry'", [LoggedSearch("TODO retry", "keyword")]),
        ("echo 'never closed", []),
        ("ls -la", []),
    ],
)
def test_commands_tell_what_was_searched_and_opened(command, found):
    assert list(parse_command(command)) == found


@given(st.text(max_size=200))
def test_no_command_is_an_exception(command):
    list(parse_command(command))
    list(parse_command(f"grep {command}"))
    list(parse_pattern(command))
    list(parse_pattern(command, words=True))


@pytest.mark.parametrize(
    ("content", "commands"),
    [
        (b"#1700000000\ngrep foo\nls\n", [(2, "grep foo"), (3, "ls")]),
        (
            b": 1700000000:0;grep foo\n: 1700000001:0;for x in a\\\ndo ls\\\ndone\n",
            [(1, "grep foo"), (2, "for x in a\ndo ls\ndone")],
        ),
        (b"- cmd: grep foo\\\\n\n  when: 1\n- cmd: a\\nb\n  when: 2\n", [(1, "grep foo\\n"), (3, "a\nb")]),
        (b"", []),
    ],
)
def test_histories_of_three_shells_are_read(tmp_path, content, commands):
    file = tmp_path / "history"
    file.write_bytes(content)
    assert read_shell(file)[0] == commands


def test_zsh_writes_some_bytes_otherwise(tmp_path):
    text = "grep 'größe'"
    meta = b"".join(bytes([0x83, byte ^ 32]) if 0x83 <= byte <= 0x9F else bytes([byte]) for byte in text.encode())
    (tmp_path / "h").write_bytes(b": 1700000000:0;" + meta + b"\n")
    assert read_shell(tmp_path / "h")[0][0] == (1, text)


@pytest.mark.parametrize("read", [read_shell, read_transcript])
def test_binary_missing_and_huge_files_are_refused(tmp_path, read):
    (tmp_path / "bin").write_bytes(b"\x7fELF\0\0\0")
    with pytest.raises(InputError, match="got a binary file"):
        read(tmp_path / "bin")
    with pytest.raises(InputError, match="cannot read the file"):
        read(tmp_path / "nothing")
    with open(tmp_path / "large", "wb") as stream:
        stream.truncate(100_000_000)
    with pytest.raises(InputError, match="at most"):
        read(tmp_path / "large")


def test_huge_lines_are_left_out_and_told(tmp_path, ground):
    (tmp_path / "h").write_text("grep next_wait\ngrep " + "x" * 1_000_000 + "\nvim pkg/net.py\n")
    found = mine_shell(ground, tmp_path / "h")
    assert [intent.text for intent in found.intents] == ["next_wait"]
    assert found.notes == ("h: skipped 1 lines that are too long",)


def test_what_was_opened_next_is_the_answer(tmp_path, ground):
    history = [
        "rg 'failed download'",
        "ls",
        f"vim {tmp_path}/code/pkg/net.py",
        "rg unpack",
        "vim other/nothing.py",
        "rg zzz",
    ]
    (tmp_path / "h").write_text("\n".join(history))
    found = mine_shell(ground, tmp_path / "h")
    assert [(intent.text, anchors(intent)) for intent in found.intents] == [
        ("failed download", {"pkg/net.py::Backoff.next_wait": 2})
    ]
    assert [one.text for one in found.unplaced] == ["unpack", "zzz"]
    assert found.intents[0].origin.source == "line 1 of h"


def test_a_definition_asked_for_by_name_is_the_answer_in_the_file_opened_next(tmp_path, ground):
    (tmp_path / "h").write_text("rg 'def next_wait'\nvim +1 pkg/net.py\n")
    found = mine_shell(ground, tmp_path / "h")
    assert [anchors(intent) for intent in found.intents] == [{"pkg/net.py::Backoff.next_wait": 2}]


def test_a_name_that_has_the_words_comes_before_a_body_that_has_them(tmp_path, make_ground):
    (tmp_path / "code").mkdir()
    caller = "fn extract_command(x: u8) -> u8 {\n    determine_ls_command(x)\n}\n"
    named = "fn determine_ls_command(x: u8) -> u8 {\n" + "    let y = x;\n" * 9 + "    y\n}\n"
    (tmp_path / "code" / "main.rs").write_text(f"{caller}\n{named}\nfn run_ls_command_or_die() {{}}\n")
    (tmp_path / "h").write_text('rg "ls_command"\nvim main.rs\nrg "ls command"\nvim main.rs\n')
    found = mine_shell(make_ground(tmp_path / "code"), tmp_path / "h")
    assert [anchors(intent) for intent in found.intents] == [{"main.rs::determine_ls_command": 2}] * 2


def test_a_text_without_a_word_of_the_code_has_no_answer(tmp_path, ground):
    (tmp_path / "h").write_text("semble search 'invoice customer billing quarterly'\nvim pkg/net.py\n")
    found = mine_shell(ground, tmp_path / "h")
    assert not found.intents
    assert [one.text for one in found.unplaced] == ["invoice customer billing quarterly"]


def test_a_name_of_the_code_is_asked_however_it_looks(tmp_path, make_ground):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("def x509_v3_ext_base64(x):\n    y = x\n    return y\n")
    (tmp_path / "h").write_text("rg x509_v3_ext_base64\nrg x509_v3_ext_base65\n")
    found = mine_shell(make_ground(tmp_path / "code"), tmp_path / "h")
    assert [intent.text for intent in found.intents] == ["x509_v3_ext_base64"]
    assert [one.source for one in found.refused] == ["line 2 of h"]


def test_a_file_opened_much_later_is_no_answer(tmp_path, ground):
    (tmp_path / "h").write_text("rg 'failed download'\n" + "ls\n" * 6 + "vim pkg/net.py\n")
    assert not mine_shell(ground, tmp_path / "h").intents


def test_a_name_that_is_defined_is_its_own_evidence(tmp_path, ground):
    (tmp_path / "h").write_text("grep -rn unpack_members\ngrep -rn members\n")
    found = mine_shell(ground, tmp_path / "h")
    assert [(intent.text, anchors(intent)) for intent in found.intents] == [
        ("unpack_members", {"pkg/net.py::unpack_members": 2})
    ]


def said(role, content):
    """A line as Claude Code writes it."""
    return {"type": role, "cwd": "/home/adalove/code", "message": {"role": role, "content": content}}


def used(name, **given):
    """A call of a tool as Claude Code writes it."""
    return {"type": "tool_use", "name": name, "input": given}


def item(kind, **rest):
    """A line as Codex writes it."""
    return {"type": "response_item", "payload": {"type": kind, **rest}}


CLAUDE = [
    said("user", "Hi. Can you tell me where the waiting time before a failed download is computed? Thanks."),
    said("assistant", [used("Grep", pattern="wait.*fail")]),
    said("user", [{"type": "tool_result", "content": "where is the root password of the server kept?"}]),
    said("assistant", [used("Read", file_path="/home/adalove/code/pkg/net.py")]),
    said("user", "<system-reminder>where is the thing that nobody asked for?</system-reminder>"),
]
SHELL = json.dumps({"command": ["bash", "-lc", "sed -n 1,5p pkg/store.py"]})
ENTRY = [{"type": "input_text", "text": "how is a cached entry read from its file?"}]
CODEX = [
    item("message", role="user", content=ENTRY),
    item("function_call", name="shell", arguments=SHELL),
    item("custom_tool_call", name="apply_patch", input="*** Begin Patch\n*** Update File: pkg/store.py\n"),
]
CALL = {"name": "read_file", "arguments": json.dumps({"path": "pkg/net.py", "start_line": 28})}
CHAT = {
    "messages": [
        {"role": "user", "content": "Which code encrypts the body with the session key?"},
        {"role": "assistant", "tool_calls": [{"type": "function", "function": CALL}]},
    ]
}


def lines(values):
    return "\n".join(map(json.dumps, values))


@pytest.mark.parametrize(
    ("content", "text", "answer"),
    [
        (
            lines(CLAUDE),
            "where the waiting time before a failed download is computed?",
            "pkg/net.py::Backoff.next_wait",
        ),
        (lines(CODEX), "how is a cached entry read from its file?", "pkg/store.py::read_entry"),
        (
            json.dumps(CHAT, indent=1),
            "Which code encrypts the body with the session key?",
            "pkg/net.py::TlsTransport.send_request",
        ),
    ],
)
def test_transcripts_of_three_shapes_are_read(tmp_path, ground, content, text, answer):
    (tmp_path / "session.jsonl").write_text(content)
    found = mine_transcript(ground, tmp_path / "session.jsonl")
    assert {intent.text: anchors(intent) for intent in found.intents}[text] == {answer: 2}
    kept = [intent.text for intent in found.intents] + [one.text for one in found.unplaced]
    assert not any("nobody" in one or "password" in one for one in kept)


def test_unknown_shapes_and_torn_lines_are_told(tmp_path, ground):
    (tmp_path / "a.jsonl").write_text('{"event": "x", "n": 1}\n{"event"\n')
    notes = mine_transcript(ground, tmp_path / "a.jsonl").notes
    assert notes[0] == "a.jsonl: skipped 1 lines that are not JSON"
    assert "the format may be unsupported" in notes[1]
    (tmp_path / "b.txt").write_text("just\nwords\n")
    with pytest.raises(InputError, match="has no JSON line"):
        mine_transcript(ground, tmp_path / "b.txt")


def test_many_opened_files_are_no_answer(tmp_path, tree, make_ground):
    for number in range(5):
        (tree / f"pkg/m{number}.py").write_text("def failed_download():\n    return 'computed'\n")
    calls = [used("Read", file_path=f"pkg/m{number}.py") for number in range(5)]
    log = [said("user", "where is the wait for a failed download computed?"), said("assistant", calls)]
    (tmp_path / "s.jsonl").write_text(lines(log))
    found = mine_transcript(make_ground(tree), tmp_path / "s.jsonl")
    assert not found.intents
    assert [one.text for one in found.unplaced] == ["where is the wait for a failed download computed?"]


KEYS = [
    "role",
    "content",
    "name",
    "input",
    "arguments",
    "command",
    "type",
    "text",
    "message",
    "path",
    "offset",
    "action",
    "sender",
    "payload",
]
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["user", "Read", "Grep"])
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_no_json_is_an_exception(tmp_path_factory, value):
    file = tmp_path_factory.mktemp("t") / "s.json"
    file.write_text(json.dumps([value, value]))
    read_transcript(file)


def test_questions_are_found_without_what_surrounds_them():
    text = "Thanks! So, could you explain how the token cache is refreshed after a restart? I will wait. What now?"
    assert list(find_questions(text)) == ["how the token cache is refreshed after a restart?"]


def test_one_word_and_the_file_opened_next_are_a_pair(tmp_path, make_ground):
    code = tmp_path / "code"
    code.mkdir()
    (code / "pool.py").write_text("# backoff is set by the caller\nimport time\n")
    (code / "tax.py").write_text("RATE = 3\n")
    (tmp_path / "h").write_text('grep "backoff" .\nvim tax.py\ngrep "backoff" .\nvim pool.py\n')
    (intent,) = mine_shell(make_ground(code), tmp_path / "h").intents
    assert (intent.text, anchors(intent)) == ("backoff", {"pool.py": 2})


def test_file_opened_by_the_next_command_is_a_target_without_the_word(tmp_path, make_ground):
    code = tmp_path / "code"
    code.mkdir()
    (code / "pool.py").write_text("# backoff is set by the caller\nimport time\n")
    (code / "tax.py").write_text("RATE = 3\n")

    def mined(history):
        (tmp_path / "h").write_text(history)
        return [(one.text, anchors(one)) for one in mine_shell(make_ground(code), tmp_path / "h").intents]

    assert mined('grep "backoff" .\nvim tax.py\n') == [("backoff", {"tax.py": 2})]
    assert mined('grep "backoff" .\nls\nvim tax.py\n') == []
    assert mined('grep "invoice" .\nvim tax.py\n') == []  # no word of this code: perhaps of another repository
