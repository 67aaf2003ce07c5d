"""The page about engines: what holds for all of them, and every kind with its settings."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import get_type_hints

from assay.engines import as_engine, templates
from assay.engines.base import (
    DECLARED,
    FilteringSession,
    FullEngine,
    MeasuredSession,
    Session,
    TimedSession,
    UpdatingSession,
)
from assay.engines.config_files import ConfigSettings
from assay.engines.kinds import KINDS
from assay.experiment.spec import Spec
from assay.settings import describe_type
from assay.types import Corpus

MADE = "Made by `make docs` from the program; edit the program."


def engines() -> str:
    """Return the page: common sections, then every kind with its settings."""
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
    for kind in KINDS.values():
        parts.append(f"## {kind.name}\n\n{kind.about}")
        if settings := kind.describe_settings():
            rows = [f"| `{s.name}` | {s.type} | {_code(s.default)} | {s.about} |" for s in settings]
            parts.append("\n".join(["| setting | type | default | meaning |", "|---|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


_ENGINES = """\
An engine is named on the command line as `--engine NAME=kind:value`, or in assay.toml as a table:

```toml
[engines.mine]
kind = "command"
argv = ["my-search", "--limit", "{k}", "--", "{query}"]
```

No shell is used; write `["sh", "-c", "..."]` if you need one. Programs run in the root of the corpus. The relative path
of a program (the first word of a command, if it contains a slash) is relative to the directory of assay.toml. An
argument that names a file beside assay.toml, such as a script, is replaced by the path of that file unless the corpus
has one of that name. Any other relative path is relative to the root of the corpus. Paths in
results are relative to the root of the corpus."""


def _placeholders() -> str:
    """Return the table of placeholders; fail if one is not described here."""
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
    table = ["| placeholder | value | allowed in |", "|---|---|---|", *rows]
    return "\n\n".join(["## Placeholders", "\n".join(table), _BRACES])


def _rendered() -> str:
    """Return the sections on configuration files and shared indexes."""
    rows = [
        f"| `config.{field.name}` | {describe_type(hint)} | {field.metadata['about']} |"
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
_ANYWHERE = "all templates"
_ASKING = "`argv` of a command that runs once per query, else `request`; `url` and `body`; `arguments`; filters"
_PLACES = {
    "query": ("the query", _ASKING),
    "k": ('the number of results to return; alone in JSON (`"{k}"`) it becomes a number', _ASKING),
    "root": ("the directory of the corpus, usually a private copy", _ANYWHERE),
    "here": ("the directory of assay.toml, or the current directory without one", _ANYWHERE),
    "store": (
        "an empty directory for an index, one per engine and corpus; its size is measured; removed at the end",
        _ANYWHERE,
    ),
    "config": (
        "the file rendered from `config.template` and `config.edits`, in a temporary directory",
        f"{_ANYWHERE}, with `[engines.NAME.config]`",
    ),
    "preset": ("the directory of the preset file, for programs beside it", f"{_ANYWHERE}, in a preset"),
    "id": ("a number that increases with every query", "`request` of an interactive program"),
    "path": ("a glob that paths of results must match", "`path_filter`"),
    "language": ("a language that results must be in, such as `python`", "`language_filter`"),
    "env:NAME": (
        "the environment variable NAME: a secret whose value is in no record, report or message",
        _ANYWHERE,
    ),
    "python": ("the Python interpreter that runs Assay", _ANYWHERE),
    "python:PROGRAM": (
        "the Python interpreter of PROGRAM on the PATH, to run a driver with the packages of an installed tool",
        _ANYWHERE,
    ),
}

_BRACES = """\
Templates are `argv`, `index`, `update`, `version`, `request`, `env` and the filters of a command; `url`, `headers`,
`body`, `index`, `update`, `ready` and the filters of an HTTP API; `command`, `index_command`, `url`, `headers`, `env`,
`arguments`, `index`, `update` and the filters of an MCP server. They are filled in one pass: braces in a query are
kept, and so are braces with other names, which belong to your tool. A name that resembles a placeholder is an error.
Values in a `url` are percent-encoded; nowhere else do they need quotes."""


def _harness() -> str:
    """Return the section on the harness, with its defaults."""
    usual = Spec()
    return _HARNESS.format(timeout=usual.timeout, index_timeout=usual.index_timeout, max_timeouts=usual.max_timeouts)


_HARNESS = """\
## What every engine gets

- **A copy of the corpus.** Every file that counts, and no other, in a new directory before timing starts. The engine
  may write there, and the size of its index is measured. Engines that only read (`private = False`) get the original.
  With `git = true` the copy is a Git repository with one commit. assay.toml and the gold files are in neither.
- **Interleaved queries.** All engines are opened, then every query is sent to each of them, in rotating order, so that
  load on the machine affects all. `interleave = false` opens one engine at a time. Startup, indexing, first and later
  queries are timed separately. There is no warm-up query.
- **Processors.** All engines use the same number of `threads`, set by CPU affinity where available and by the variables
  that libraries read (such as `OMP_NUM_THREADS`).
- **Secrets.** Values of `{{env:NAME}}`, of `token_env`, and of variables whose names look like secrets are redacted
  from results, errors, notes and stderr. A literal key in the settings is an error.
- **Timeouts.** `timeout` ({timeout:g} s) per query and `index_timeout` ({index_timeout:g} s) to open. `[run]` sets them
  for all engines; those of an engine can only be shorter. A program that times out is ended with all its children. A
  failed query gets the worst score. After `max_timeouts` ({max_timeouts}) consecutive timeouts an engine gets no more
  queries on that corpus; 0 never gives up.
- **The same normalization.** k results, repaired and deduplicated by the same rules; repairs are reported."""

_PRESETS = """\
## Presets

A preset is a file with the settings of a known tool. `assay engines` lists the shipped presets, `assay engines check
NAME` checks whether one works on this machine. On the command line use its name as the engine: `--engine semble`. In
assay.toml write `preset` instead of `kind`; your settings override those of the preset. Tables (`env`, `arguments`,
`body`) are overridden key by key, other settings as a whole:

```toml
[engines.mine]
preset = "semble"
timeout = 5.0
```

For larger changes copy the preset with `assay engines show semble > mine.toml`, edit it, and name the file:
`--engine ./mine.toml`, or `preset = "mine.toml"`, relative to the directory of assay.toml. A preset has two tables:
`[preset]` with facts about the tool (`about`, and optionally `home`, `docs`, `verified`, `install`, `needs`,
`variables`, `note`, `version.argv`), and `[engine]` with its `kind` and settings."""


def _python_engines() -> str:
    """Return the section on Python engines, from the protocols."""
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
    engine = ["| optional attribute of an engine | default | meaning |", "|---|---|---|", *own]
    session = ["| optional member of a session | meaning |", "|---|---|", *calls]
    return "\n\n".join([_PYTHON, "\n".join(engine), "\n".join(session), _PYTHON_EXAMPLE])


#: Attributes without a default to show.
_OWN = ("config", "fingerprint")


def _declared(bare: object, name: str) -> str:
    """Return the default of an optional attribute; empty if it depends on the engine."""
    return "" if name in _OWN else repr(getattr(bare, name))


class _Bare:
    """An engine without optional attributes."""

    def open(self, corpus: Corpus) -> Session:
        raise NotImplementedError


_SESSIONS: dict[type, tuple[str, ...]] = {
    MeasuredSession: ("usage",),
    UpdatingSession: ("update_within",),
    FilteringSession: ("filters", "search_filtered"),
    TimedSession: ("search_within",),
}


_MEANINGS = {"usage": "Return the `SessionUsage`, after the last query and before `close`"}


def _about(owner: type, name: str) -> str:
    """Return the meaning of an attribute from its docstring."""
    return _MEANINGS.get(name) or (inspect.getdoc(inspect.getattr_static(owner, name)) or "").rstrip(".")


def _call(owner: type, name: str) -> str:
    """Format a method with its arguments, or an attribute."""
    member = inspect.getattr_static(owner, name)
    if isinstance(member, property):
        return name
    return f"{name}({', '.join(inspect.signature(member).parameters)})".replace("(self, ", "(").replace("(self)", "()")


_PYTHON = """\
## Python engines

`python:module:callable` names a search function `(query, k)` or `(query)`, a class, or a function that makes an engine;
`options` are the arguments of the latter two. `k` is passed to a parameter of that name, else to the second positional
parameter, unless its default is neither an integer nor None; the results of a function without `k` are cut at k. Any
other callable is an error (exit code 2). Results are `assay.Hit`s, paths, `path:10-20`, or mappings with `path`,
`start`, `end` and `score`, best first. A function does not get the corpus. A class does:

- `open(corpus)` prepares the engine and returns a session. `corpus.root` is the directory, `corpus.files` the files
  that count, each with `path` (relative to the root), `size`, `language` and `kind`.
- The session has `search(query, k)`, which returns results, and `close()`.

The engine runs in this process. A call that times out is abandoned in its thread, not ended: run code that may hang as
a command."""

_PYTHON_EXAMPLE = """\
A run calls `search` and `usage`; `update_within` and filters are for `assay audit` and `assay engines query`. A session
that enforces timeouts itself (`search_within`) belongs to an engine with `open_within(corpus, seconds)`; only for those
does `parallel` have an effect. `EngineReply`, `SessionUsage` and `SearchFilter` are in `assay.engines.base`.

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
    return f"`{text}`" if text else ""
