"""The page about engines: what holds for all of them, and every kind with its settings."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import get_type_hints

from assay.engines import as_engine, templates
from assay.engines.base import FilteringSession, FullEngine, MeasuredSession, Session, TimedSession, UpdatingSession
from assay.engines.config_files import ConfigSettings
from assay.engines.kinds import describe_kinds
from assay.engines.python import DECLARED
from assay.experiment.spec import Spec
from assay.settings import type_text
from assay.types import Corpus

MADE = "Made by `make docs` from the program; edit the program."


def engines() -> str:
    """Describe what holds for every engine, then every kind with its settings."""
    parts = [
        "# Engines",
        MADE,
        _ENGINES,
        _placeholders(),
        _rendered(),
        _harness(),
        _PRESETS,
        _python_engines(),
        "# Kinds",
    ]
    for page in describe_kinds():
        parts.append(f"## {page.name}\n\n{page.about}")
        if page.settings:
            rows = [f"| `{s.name}` | {s.type} | {_code(s.default)} | {s.about} |" for s in page.settings]
            parts.append("\n".join(["| setting | type | default | meaning |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


_ENGINES = """\
An engine is named on the command line as `--engine NAME=kind:value`, or in assay.toml as a table:

```toml
[engines.mine]
kind = "command"
argv = ["my-search", "--limit", "{k}", "--", "{query}"]
```

No shell is used: write `["sh", "-c", "..."]` if you want one. Programs run in the root of the corpus. The relative path
of a program (the first word of a command, with a slash in it) starts at the folder of assay.toml; any other relative
path starts where the program runs, so write `{here}/tool.py` for a file beside assay.toml. Paths in results are from
the root of the corpus."""


def _placeholders() -> str:
    """Show every placeholder; one that the program knows and this page does not is an error."""
    outside = tuple(f"{kind}:{_ARGUMENTS[kind]}" for kind in templates._READERS)
    names = (
        "query",
        "k",
        *sorted(templates.PATH_PLACEHOLDERS, key=_FOLDERS_FIRST.index),
        "id",
        "path",
        "language",
        *templates.INTERPRETER,
        *outside,
    )
    assert set(templates.QUERY_PLACEHOLDERS) == {"query", "k"}
    rows = [f"| `{{{name}}}` | {_PLACES[name][0]} | {_PLACES[name][1]} |" for name in names]
    table = ["| placeholder | stands for | may stand in |", "|---|---|---|", *rows]
    return "\n\n".join(["## Placeholders", "\n".join(table), _BRACES])


def _rendered() -> str:
    """Show what a file for a tool is made from, and how variants share an index."""
    rows = [
        f"| `config.{field.name}` | {type_text(hint)} | {field.metadata['about']} |"
        for field, hint in zip(fields(ConfigSettings), get_type_hints(ConfigSettings).values(), strict=True)
    ]
    table = ["| setting | type | meaning |", "|---|---|---|", *rows]
    return "\n\n".join([_FILES, "\n".join(table), _INDEXES])


_FILES = """\
## Configuration files

For a tool that reads its settings from a file, `[engines.NAME.config]` of a `command`, `http` or `mcp` engine renders
the file from a template and passes its path as `{config}`. Keys are dotted: `"a.b".c` has a dot in its first part, and
`servers.0.url` selects an item of a list. Placeholders are filled, including `{env:NAME}`, so the file is readable only
by you and is removed after the run. The template is never changed or executed. The rendered file is parsed again to
verify that only the edited keys changed. Records contain the name and digest of the template, and the edits as written
in assay.toml."""

_INDEXES = """\
## Shared indexes

`index_keys` lists the settings that the index depends on. Indexing sees only these: the named `config.edits`, and the
named variables of `env` (all of them if none is named). Variants that agree in these settings share one copy of the
corpus and its `{store}`: the first variant builds the index, and the others start their program or server on it. The
index must be complete on disk, in `{root}`, in `{store}` or where the tool finds it by the path of the code. A program
or server that indexes at startup or on request must write to `{root}` or `{store}`; otherwise it fails.

- If a variant writes to the index during queries, a note says so, and the index is restored for the next variant: from
  a backup, or by indexing again if it is larger than 1 GB.
- If indexing fails, every variant fails with the same message; it is not retried.
- A server behind an `http` engine may hold one index at a time, so it is told to index again after another index was
  built. Run such a server with `--jobs 1`.
- `assay run --reuse-index` caches the index for later runs. The cache key covers the corpus, the index settings and the
  environment variables that they name, the output of `version`, and path, size and modification time of the programs
  and of the files in their arguments. A note gives the date of a reused index. An index outside these directories (such
  as in the home directory) or on a remote server cannot be cached, and one that another process uses is built again.
- An index may contain values that the tool was given, including keys in its configuration. Cached indexes are in
  `indexes` of the cache, readable only by you; `assay cache prune --kind indexes --to 0` removes them."""

_ARGUMENTS = {"env": "NAME", "python": "PROGRAM"}
_FOLDERS_FIRST = ["root", "here", "store", "config", "preset"]
_ANYWHERE = "wherever a placeholder may stand"
_ASKING = "`argv` of a command that runs for each query, else `request`; `url` and `body`; `arguments`; filters"
_PLACES = {
    "query": ("the question", _ASKING),
    "k": ('the number of results that are asked for; alone in JSON (`"{k}"`) it is a number', _ASKING),
    "root": ("the folder of the corpus, mostly a copy that is the engine's own", _ANYWHERE),
    "here": ("the folder of assay.toml; without one, that where the command is given", _ANYWHERE),
    "store": (
        "an empty folder of the engine's own, one for each corpus, for an index; measured, and removed at the end",
        _ANYWHERE,
    ),
    "config": (
        "a file that is rendered for the engine from `config.template` by `config.edits`, in a folder of its own",
        f"{_ANYWHERE}, with `[engines.NAME.config]`",
    ),
    "preset": ("the folder of the preset's file, for programs that lie beside it", f"{_ANYWHERE}, in a preset"),
    "id": ("a number that counts up with the questions", "`request` of a program that stays"),
    "path": ("a glob that paths of results must match", "`path_filter`"),
    "language": ("a language that results must be in, such as `python`", "`language_filter`"),
    "env:NAME": (
        "the variable NAME of the environment: a secret, its value is in no record, report or message",
        _ANYWHERE,
    ),
    "python": ("the Python that Assay itself runs in", _ANYWHERE),
    "python:PROGRAM": (
        "the Python that PROGRAM on the PATH starts with, to run a driver among the packages of an installed tool",
        _ANYWHERE,
    ),
}

_BRACES = """\
They may stand in `argv`, `index`, `update`, `version`, `request`, `env` and the filters of a command; in `url`,
`headers`, `body`, `index`, `update`, `ready` and the filters of an HTTP API; in `command`, `index_command`, `url`,
`headers`, `env`, `arguments`, `index`, `update` and the filters of an MCP server. All are filled in one pass: braces in
a query stay what they are, and so do braces that name nothing in the table, which belong to your tool. What looks like
one of them misspelt is an error. In a `url` values are percent-encoded; nowhere else do they need quotes."""


def _harness() -> str:
    """Say what is done for every engine, with the numbers of the program."""
    usual = Spec()
    return _HARNESS.format(timeout=usual.timeout, index_timeout=usual.index_timeout, give_up=usual.give_up)


_HARNESS = """\
## What every engine gets

- **A copy of the corpus.** Every file that counts, and nothing else, in a fresh folder before the clock starts; the
  engine may leave there what it likes, and what its index leaves is measured. Engines that declare to only read
  (`private = False`) get the original. With `git = true` the copy is a repository with one commit. assay.toml and the
  gold files are in neither.
- **Turns.** All engines are opened, then every question is put to each of them, in an order that rotates, so that a
  busy moment of the machine hits all. `interleave = false` opens one at a time. Start-up, index, first and later
  queries are timed apart. No warm-up query is asked.
- **Processors.** All engines have the same `threads`, by CPU affinity where the system has it and by the variables that
  libraries read (`OMP_NUM_THREADS` and its like).
- **Secrets.** Values of `{{env:NAME}}`, of `token_env`, and of variables that are named like secrets are struck out of
  answers, errors, notes and stderr before anything is written. A key that stands in the settings itself is refused.
- **Time limits.** `timeout` ({timeout:g} s) for a query, `index_timeout` ({index_timeout:g} s) to get ready;
  `[run]` sets them for all, an engine's own can only be less. A program that is late is ended with all it started. A
  query that is late or fails scores worst. After `give_up` ({give_up}) time-outs in a row an engine is asked no more on
  that corpus; 0 asks to the end.
- **The same reading.** k results, repaired and de-duplicated by the same rules; what had to be repaired is told."""

_PRESETS = """\
## Presets

A preset is a file with the settings of a known tool; `assay engines` lists those that ship, `assay engines check NAME`
says whether one works here. On the command line its name is an engine: `--engine semble`. In assay.toml `preset` stands
in the place of `kind`, and what you add overrides; tables (`env`, `arguments`, `body`) are overridden key by key, all
else whole:

```toml
[engines.mine]
preset = "semble"
timeout = 5.0
```

For more than that, copy it: `assay engines show semble > mine.toml`, change it, and name the file:
`--engine ./mine.toml`, or `preset = "mine.toml"`, which starts at the folder of assay.toml. It has two tables:
`[preset]`, what is known of the tool (`about`, and perhaps `home`, `docs`, `verified`, `install`, `needs`, `variables`,
`note`, `version.argv`), and `[engine]`, its `kind` and settings."""


def _python_engines() -> str:
    """Describe what an engine in Python has to offer and what it may, from the protocols."""
    bare = as_engine(_Bare())  # type: ignore[arg-type]  # what it lacks is filled in
    own = [
        f"| `{name}` | {_code(_declared(bare, name))} | {_about(FullEngine, name)} |"
        for name in DECLARED
        if name != "role"
    ]
    calls = [
        f"| `{_call(protocol, name)}` | {_about(protocol, name)} |"
        for protocol, names in _SESSIONS.items()
        for name in names
    ]
    engine = ["| an engine may declare | default | meaning |", "|---|---|---|", *own]
    session = ["| a session may also have | meaning |", "|---|---|", *calls]
    return "\n\n".join([_PYTHON, "\n".join(engine), "\n".join(session), _PYTHON_EXAMPLE])


#: What every engine has of its own: there is no default to show.
_OWN = ("config", "fingerprint")


def _declared(bare: object, name: str) -> str:
    """Give the default of what an engine may declare; nothing where each engine has its own."""
    return "" if name in _OWN else repr(getattr(bare, name))


class _Bare:
    """An engine that declares nothing."""

    def open(self, corpus: Corpus) -> Session:
        """Never be opened."""
        raise NotImplementedError


_SESSIONS: dict[type, tuple[str, ...]] = {
    MeasuredSession: ("usage",),
    UpdatingSession: ("update_within",),
    FilteringSession: ("filters", "search_filtered"),
    TimedSession: ("search_within",),
}


_MEANINGS = {"usage": "Tell by a `Usage` what it took, after the last query and before the end"}


def _about(owner: type, name: str) -> str:
    """Take the meaning of an attribute from its docstring, where that can stand alone."""
    return _MEANINGS.get(name) or (inspect.getdoc(inspect.getattr_static(owner, name)) or "").rstrip(".")


def _call(owner: type, name: str) -> str:
    """Write a method with its arguments, or an attribute."""
    member = inspect.getattr_static(owner, name)
    if isinstance(member, property):
        return name
    return f"{name}({', '.join(inspect.signature(member).parameters)})".replace("(self, ", "(").replace("(self)", "()")


_PYTHON = """\
## Python engines

`python:module:callable` names a search function `(query, k)` or `(query)`, a class, or a function that makes an engine;
`options` are the arguments of the latter two. `k` is passed to a parameter of that name, else to the second positional
one, unless its default is neither a whole number nor None; the results of a function without it are cut at k. Any other
callable is an error (exit code 2). Results are `assay.Hit`s, paths, `path:10-20`, or mappings with `path`, `start`,
`end` and `score`, best first. A function does not get the corpus. A class does:

- `open(corpus)` gets ready and gives a session. `corpus.root` is the folder, `corpus.files` the files that count, each
  with `path` (from the root), `size`, `language` and `kind`.
- The session has `search(query, k)`, for results, and `close()`.

It runs in this process. A call that is late is abandoned in its thread, not ended: run code that may hang as a
command."""

_PYTHON_EXAMPLE = """\
A run asks for `search` and `usage`; `update_within` and filters are for `assay audit` and `assay engines ask`. A
session that keeps to a time limit by itself (`search_within`) belongs to an engine with `open_within(corpus, seconds)`;
only for those does `parallel` count. `EngineReply`, `SessionUsage` and `SearchFilter` are in `assay.engines.base`.

```python
from fnmatch import fnmatch

from assay.engines.base import SearchFilter, SessionUsage


class Mine:
    private = False  # it only reads

    def open(self, corpus):
        session = Opened()
        session.update_within(corpus, None)
        return session


class Opened:
    filters = frozenset({"paths"})

    def update_within(self, corpus, seconds):
        self.texts = {f.path: (corpus.root / f.path).read_text("utf-8", "replace").lower() for f in corpus.files}

    def search(self, query, k):
        return self.search_filtered(query, k, SearchFilter(), None)

    def search_filtered(self, query, k, wanted, seconds):
        paths = [path for path in self.texts if not wanted.paths or any(fnmatch(path, g) for g in wanted.paths)]
        words = query.lower().split()
        return sorted(paths, key=lambda path: (-sum(word in self.texts[path] for word in words), path))[:k]

    def usage(self):
        return SessionUsage(version="1.0")

    def close(self):
        self.texts = {}
```"""


def _code(text: str | None) -> str:
    """Write a default as code, or nothing."""
    return f"`{text}`" if text else ""
