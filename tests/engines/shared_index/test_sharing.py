"""Variants that share an index: the same answers as without, made once, never spoilt for the next."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from assay.engines import make_engine
from assay.engines.base import SharedCache, sharing_engine
from assay.engines.shared_index import WROTE
from assay.errors import ConfigError, EngineError
from assay.store.store import Store
from assay.types import Corpus
from tests.engines.conftest import CorpusOf
from tests.engines.shared_index.conftest import PLACES, TOOL, Log, Make, answers, hits, shared
from tests.waiting import WATCHDOG

WEIGHTS = (0.0, 0.2, 0.5, 1.0, -1.0, -0.2)
STAYS = {
    "mode": "lines",
    "index": None,
    "argv": [*TOOL, "serve", *PLACES],
    "ready": "ready",
    "request": {"query": "{query}", "k": "{k}"},
    "path": "results[]",
}


@pytest.mark.parametrize("way", [{}, STAYS], ids=["once", "stays"])
def test_law_shared_answers_are_those_of_an_index_of_its_own(tool: Make, code: Corpus, log: Log, way: dict) -> None:
    engines = [tool({"search.weight": weight}, **way) for weight in (0.0, -1.0, 1.0)]
    alone = [hits(answers(engine, code, None)[0], code) for engine in engines[:2]]
    before = len(log())
    assert before == 2
    shelf = SharedCache(code)
    together = [hits(answers(engine, code, shelf)[0], code) for engine in engines]
    shelf.close()
    assert together[:2] == alone
    assert len({str(found) for found in together}) > 1  # the param is connected
    assert len(log()) - before == shelf.made["index"] == 1


def test_index_is_made_once_for_each_value_of_an_index_key(tool: Make, code: Corpus, log: Log) -> None:
    shelf = SharedCache(code)
    engines = [tool({"search.weight": w, "embedding.cut": cut}) for cut in (100, 2) for w in WEIGHTS[:2]]
    found = [hits(answers(engine, code, shelf)[0], code) for engine in engines]
    assert found[0] != found[2]
    assert shelf.made["index"] == len(log()) == 2
    assert len({shared(engine).steps()[0].digest for engine in engines}) == 2
    assert len({shared(engine).steps()[1].digest for engine in engines}) == 4
    shelf.close()


def test_index_sees_the_edits_that_belong_to_it_alone(tool: Make, code: Corpus, log: Log) -> None:
    shelf = SharedCache(code)
    answers(tool({"search.weight": 9.0, "embedding.model": "big"}), code, shelf)
    answers(tool({"search.weight": 9.0, "embedding.model": "big"}), code, None)
    shelf.close()
    for config, _, _ in log():
        assert config == {
            "embedding": {"model": "big", "cut": 100, "pad": 0},
            "search": {"weight": 0.5, "spoil": False},
        }


def test_index_sees_the_variables_that_belong_to_it_alone(tool: Make, code: Corpus, log: Log) -> None:
    shelf = SharedCache(code)
    env = {"TOOL_MODEL": "m", "TOOL_LIGHT": "1"}
    one = tool(env=env, index_keys=["config.embedding", "env.TOOL_MODEL"])
    two = tool(env={**env, "TOOL_LIGHT": "2"}, index_keys=["config.embedding", "env.TOOL_MODEL"])
    other = tool(env={**env, "TOOL_MODEL": "n"}, index_keys=["config.embedding", "env.TOOL_MODEL"])
    whole = tool(env={**env, "TOOL_LIGHT": "2"})
    for engine in (one, two, other):
        answers(engine, code, shelf)
    shelf.close()
    assert [model for _, model, _ in log()] == ["m", "n"]
    assert shared(whole).steps()[0] != shared(tool(env=env)).steps()[0]  # unnamed, all of env belongs


def test_without_index_keys_nothing_is_shared(tool: Make, code: Corpus, log: Log) -> None:
    shelf = SharedCache(code)
    for weight in WEIGHTS[:2]:
        answers(tool({"search.weight": weight}, index_keys=None), code, shelf)
    shelf.close()
    assert shelf.made["index"] == len(log()) == 2
    assert log()[0][0]["search"]["weight"] == 0.0


def test_place_goes_with_the_shelf_and_not_with_the_session(tool: Make, code: Corpus, log: Log) -> None:
    shelf = SharedCache(code)
    answers(tool(), code, shelf)
    answers(tool({"search.weight": 0.1}), code, shelf)
    root = Path(log()[0][2])
    assert root.is_dir()
    assert root != code.root
    shelf.close()
    assert not root.parent.parent.parent.exists()


@pytest.mark.parametrize("pad", [0, 2 * 10**9], ids=["put back", "too large for a copy and made anew"])
def test_variant_that_writes_into_the_index_spoils_it_for_nobody(tool: Make, code: Corpus, log: Log, pad: int) -> None:
    shelf = SharedCache(code)
    clean, _ = answers(tool({"search.weight": 0.1, "embedding.pad": pad}), code, shelf)
    spoilt, notes = answers(tool({"search.spoil": True, "embedding.pad": pad}), code, shelf)
    assert notes == (WROTE,)
    assert [bool(answer.error) for answer in spoilt] == [False, True]  # it has spoilt it for itself
    after, notes = answers(tool({"search.weight": 0.1, "embedding.pad": pad}), code, shelf)
    assert notes == ()
    assert hits(after, code) == hits(clean, code)
    shelf.close()
    assert len(log()) == shelf.made["index"] == (2 if pad else 1)


def test_variants_that_are_open_at_once_do_not_meet_each_others_writing(tool: Make, code: Corpus, log: Log) -> None:
    shelf = SharedCache(code)
    first = shared(tool({"search.spoil": True})).open_shared(code, shelf, WATCHDOG)
    first.search("float", 3)
    found, _ = answers(tool(), code, shelf)
    assert hits(found, code)
    first.close()
    shelf.close()
    assert shelf.made["index"] == 2
    assert not any(Path(root).exists() for _, _, root in log())


def test_failing_index_fails_every_variant_in_the_same_words_and_is_not_tried_again(
    tool: Make, code: Corpus, log: Log
) -> None:
    shelf = SharedCache(code)
    told = []
    for weight in WEIGHTS:
        with pytest.raises(EngineError) as problem:
            shared(tool({"search.weight": weight, "embedding.model": "broken"})).open_shared(code, shelf, WATCHDOG)
        told.append((str(problem.value), problem.value.stderr))
    shelf.close()
    assert len(set(told)) == 1
    assert "no model for {root}" in told[0][0]
    assert "no model for {root}" in told[0][1]
    assert len(log()) == 1


def test_program_that_indexes_when_it_starts_must_leave_its_index_where_others_find_it(
    tool: Make, code: Corpus
) -> None:
    nowhere = [sys.executable, "-ISc", "print('ready', flush=True); input()", "{config}", "{store}"]
    engine = tool(**{**STAYS, "argv": nowhere})
    with pytest.raises(EngineError, match="wrote nothing"):
        shared(engine).open_shared(code, SharedCache(code), WATCHDOG)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["config.embeding.model"], "did you mean 'config.embedding.model'"),
        (["env.MODEL"], "unknown setting"),
        (["argvs"], "did you mean 'argv'"),
        (["config.edits.search.nothing"], "unknown setting"),
    ],
)
def test_names_that_mean_nothing_are_errors_with_the_nearest(tool: Make, keys: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as told:
        tool(index_keys=keys)
    assert said in str(told.value)


def test_index_keys_without_an_index_and_config_without_a_reader_are_errors(tool: Make) -> None:
    with pytest.raises(ConfigError, match="builds no index"):
        tool(index=None)
    with pytest.raises(ConfigError, match="is not used"):
        tool(index="true", argv="true {query}", index_keys=None)
    with pytest.raises(ConfigError, match=r"placeholder \{config\}"):
        tool(config=None, index_keys=None)


def test_presets_and_python_engines_are_seen_through(tool: Make, tmp_path: Path) -> None:

    (tmp_path / "mine.toml").write_text(
        '[preset]\nabout = "x"\n[engine]\nkind = "command"\nargv = "cat {query}"\nindex = "touch {store}/x"\n'
    )
    preset = make_engine("./mine.toml", directory=tmp_path)
    assert [step.name for step in shared(preset).steps()] == ["index", "ranking"]
    assert sharing_engine(make_engine("python:os.path:join")) is None


def test_secrets_of_a_file_are_in_no_record_and_no_message(
    tool: Make, code: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_KEY", "hush-hush-4711")
    (tmp_path / "key.toml").write_text('[embedding]\nmodel = "broken"\ncut = 1\n[search]\nkey = "{env:TOOL_KEY}"\n')
    show = [sys.executable, "-c", "import sys; sys.exit(open(sys.argv[1]).read().split('=')[-1])", "{config}"]
    engine = tool(config={"template": "key.toml", "edits": {}}, index=show)
    assert "hush-hush-4711" in engine.secrets
    assert "hush" not in json.dumps(engine.config)
    said = cast("dict[str, object]", engine.config["config"])
    assert sorted(said) == ["edits", "template", "template_digest"]
    assert said["template"] == "key.toml"
    with pytest.raises(EngineError) as told:
        shared(engine).open_shared(code, SharedCache(code), WATCHDOG)
    assert "***" in str(told.value)
    assert "hush" not in str(told.value) + told.value.stderr


# ------------------------------------------------------------------------------------------------ --reuse-index


def run_once(engine, code: Corpus, root: Path, *, reuse: bool = True):
    """One run of its own: a shelf that is opened and closed."""
    with Store(root) as artefacts:
        shelf = SharedCache(code, artefacts, reuse_index=reuse)
        found, notes = answers(engine, code, shelf)
        shelf.close()
    return hits(found, code), notes, shelf.made["index"]


def test_reused_index_gives_the_same_answers_at_the_same_place(
    tool: Make, code: Corpus, log: Log, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    first, notes, made = run_once(tool({"search.weight": 0.1}), code, kept)
    assert (notes, made) == ((), 1)
    again, notes, made = run_once(tool({"search.weight": 0.1}), code, kept)
    assert again == first
    assert made == 0
    assert len(notes) == 1
    assert "reused" in notes[0]
    other, _, made = run_once(tool({"search.weight": 0.9}), code, kept)
    assert made == 0
    assert run_once(tool({"search.weight": 0.9}), code, kept, reuse=False)[0] == other
    assert len(log()) == 2
    assert not list((kept / ".tmp").iterdir())


def test_kept_index_is_not_spoilt_by_a_variant_that_writes(tool: Make, code: Corpus, log: Log, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first = run_once(tool(), code, kept)[0]
    with Store(kept) as artefacts:
        shelf = SharedCache(code, artefacts, reuse_index=True)
        assert WROTE in answers(tool({"search.spoil": True}), code, shelf)[1]
        assert hits(answers(tool(), code, shelf)[0], code) == first
        shelf.close()
    assert run_once(tool(), code, kept)[0] == first
    assert len(log()) == 1


def test_another_corpus_index_key_or_tool_is_another_index(
    tool: Make, code: Corpus, corpus_of: CorpusOf, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    script = tmp_path / "copy.py"
    script.write_text(Path(TOOL[-1]).read_text())
    own = [*TOOL[:-1], str(script)]
    commands = {"index": [*own, "index", *PLACES], "argv": [*own, "search", *PLACES, "{query}", "{k}"]}
    assert run_once(tool(**commands), code, kept)[2] == 1
    assert run_once(tool(**commands), code, kept)[2] == 0
    script.write_text(script.read_text() + "# newer\n")
    assert run_once(tool(**commands), code, kept)[2] == 1
    assert run_once(tool({"embedding.cut": 3}, **commands), code, kept)[2] == 1
    assert run_once(tool(**commands), corpus_of({"a.py": "decode"}), kept)[2] == 1
    versions = [tool(**commands, version=[sys.executable, "-c", f"print({v})"]) for v in (1, 1, 2)]
    assert [run_once(engine, code, kept)[2] for engine in versions] == [1, 0, 1]
    script.write_text(script.read_text() + "# a change that its version does not tell\n")
    assert run_once(versions[0], code, kept)[2] == 1


def test_kept_indexes_are_for_our_eyes_only(tool: Make, code: Corpus, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    run_once(tool(), code, kept)
    run_once(tool(), code, kept)
    assert (kept / "indexes").stat().st_mode & 0o777 == 0o700
    with Store(kept).temporary("a") as work:
        assert work is not None
        assert work.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("keys", [["config.embedding"], None])
def test_edit_that_says_what_stands_there_is_the_same_index(tool: Make, keys: list[str] | None) -> None:
    def index(edits: dict[str, object] | None = None) -> str:
        return shared(tool(edits, index_keys=keys)).steps()[0].digest

    assert index({"embedding.cut": 100}) == index({"embedding.cut": 100, "embedding.model": "small"}) == index()
    assert index({"embedding.cut": 101}) != index()
    assert (index({"search.weight": 0.9}) == index()) is bool(keys)


def test_rendered_configuration_of_a_killed_run_is_removed_at_the_next_start(code: Corpus, tmp_path: Path) -> None:
    own = tmp_path / "tmp"
    own.mkdir()
    (tmp_path / "tool.toml").write_text('key = "{env:TOOL_KEY}"\n')
    table = {"kind": "command", "argv": ["cat", "{config}", "{store}", "{query}"], "config": {"template": "tool.toml"}}
    script = (
        "from pathlib import Path\nfrom assay.engines import make_engine\n"
        "from assay.corpus import open_corpus, parse_spec\n"
        f"engine = make_engine({table!r}, directory=Path({str(tmp_path)!r}))\n"
        f"session = engine.open(open_corpus(parse_spec({str(code.root)!r})))\n"
        "print('open', flush=True)\ninput()\nsession.close()\n"
    )
    environment = {**os.environ, "TMPDIR": str(own), "TOOL_KEY": "sk-very-secret"}

    def started() -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-c", script], env=environment, text=True, **pipes)  # type: ignore[call-overload]
        assert process.stdout.readline() == "open\n"
        return process

    with started() as process:
        process.send_signal(signal.SIGKILL)
    left = [path for path in own.rglob("tool.toml") if "sk-very-secret" in path.read_text()]
    assert len(left) == 1
    assert left[0].stat().st_mode & 0o077 == 0
    with started() as process:
        assert not left[0].exists()
        process.communicate("\n")
    assert list(own.iterdir()) == []


def test_index_that_lies_elsewhere_is_not_kept_and_that_is_told(tool: Make, code: Corpus, tmp_path: Path) -> None:
    index = [sys.executable, "-c", f"open({str(tmp_path / 'home')!r}, 'a').write('x')", "{config}"]
    argv = [sys.executable, "-c", "print('reads.py')", "{query}"]
    for count in (1, 2):
        _, notes, made = run_once(tool(index=index, argv=argv), code, tmp_path / "kept")
        assert made == 1
        assert "cannot be kept" in notes[0]
        assert (tmp_path / "home").read_text() == "x" * count


def test_index_that_another_process_uses_is_made_anew(tool: Make, code: Corpus, tmp_path: Path) -> None:
    with Store(tmp_path / "kept") as artefacts:
        one, two = (SharedCache(code, artefacts, reuse_index=True) for _ in range(2))
        session = shared(tool()).open_shared(code, one, WATCHDOG)
        found, notes = answers(tool(), code, two)
        assert hits(found, code)
        assert "in use" in notes[0]
        session.close()
        two.close()
        one.close()
    assert one.made["index"] == two.made["index"] == 1
