"""Who is measured: each engine as a table of assay.toml would name it, and what it is given that is not its own.

ASSAY_BENCH_WITHOUT   peers to leave out, by commas                    default nobody
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.pages import Unavailable
from benchmarks.peers.programs import CHUNKHOUND, PROBE, SEMBLE, SIA, Peer, give_vectors, programs
from benchmarks.peers.serving import embedding, searching, serving
from benchmarks.peers.weights import CARRIER, write_weights
from benchmarks.quality.sources import say

#: What everybody is compared with.
OURS: Final = "builtin"


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table."""

    name: str
    by: str  # the adapter, in words
    settings: Mapping[str, object]
    peer: Peer | None = None  # what must be installed for it


@dataclass(frozen=True, slots=True)
class Field:
    """Everybody who is here, and what people must know of them."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = field(default=())


def _entries(address: str, home: Path) -> tuple[Entry, ...]:
    """List everybody; `address` is of the server with the reference engine, `home` has what ChunkHound downloads."""
    asked = {"root": "{root}", "query": "{query}", "k": "{k}"}
    hits = {"path": "hits[].path", "start": "hits[].start", "end": "hits[].end", "score": "hits[].score"}
    search = ["assay", "search", "--json", "--no-snippets", "-k", "{k}", "--", "{query}", "{root}"]
    index = {"url": f"{address}/index", "body": {"root": "{root}"}}
    store = {"env": {"ASSAY_INDEX_DIR": "{store}"}}
    home_of = {"env": {"HOME": str(home)}}
    return (
        Entry(OURS, "in Assay's process", {"kind": "builtin"}),
        Entry("builtin by CLI", "command", {"kind": "command", "index": ["assay", "index", "{root}"],
                                            "argv": search, **hits, **store}),
        Entry("builtin by MCP", "mcp, stdio", {"preset": "assay-mcp"}),
        Entry("builtin by HTTP", "http, loopback", {"kind": "http", "url": f"{address}/search", "body": asked,
                                                    "index": index, **hits}),
        Entry("keywords", "in Assay's process", {"kind": "keywords"}),
        Entry("semble", "JSON lines", {"preset": "semble"}, SEMBLE),
        Entry("semble-cli", "command", {"preset": "semble-cli"}, SEMBLE),
        Entry("semble-mcp", "mcp, stdio", {"preset": "semble-mcp"}, SEMBLE),
        Entry("chunkhound", "mcp, stdio", {"preset": "chunkhound", **home_of}, CHUNKHOUND),
        Entry("chunkhound-regex", "mcp, stdio", {"preset": "chunkhound-regex", **home_of}, CHUNKHOUND),
        Entry("sia-code-lexical", "command", {"preset": "sia-code-lexical"}, SIA),
        Entry("probe", "command", {"preset": "probe"}, PROBE),
    )  # fmt: skip


@contextmanager
def everybody(folder: Path) -> Iterator[Field]:
    """Install who can be installed, start the servers, and say who is missing; all of it ends with the block."""
    with ExitStack() as stack:
        address = stack.enter_context(serving(searching()))
        vectors = stack.enter_context(serving(embedding()))
        links, notes, here = folder / "bin", [], set()
        links.mkdir()
        without = os.environ.get("ASSAY_BENCH_WITHOUT", "").split(",")
        for peer in (SEMBLE, CHUNKHOUND, SIA, PROBE):
            try:
                if peer.name in without:
                    raise Unavailable("ASSAY_BENCH_WITHOUT names it")
                (links / peer.name).symlink_to(programs(peer) / peer.name)
                here.add(peer)
            except Unavailable as problem:
                notes.append(say(f"{peer.name} is left out: {problem}"))
        home = give_vectors(folder / "home") if CHUNKHOUND in here else folder
        stack.enter_context(_environment(_variables(folder, links, vectors)))
        entries = tuple(e for e in _entries(address, home) if e.peer is None or e.peer in here)
        yield Field(entries, tuple(notes))


def _variables(folder: Path, links: Path, vectors: str) -> dict[str, str]:
    """Name what the peers read from the environment."""
    return {
        "PATH": os.pathsep.join([str(links), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HF_HUB_OFFLINE": "1",
        "SEMBLE_MODEL_NAME": str(write_weights(folder / "weights")),
        "CHUNKHOUND_EMBEDDING__PROVIDER": "openai",
        "CHUNKHOUND_EMBEDDING__BASE_URL": f"{vectors}/v1",
        "CHUNKHOUND_EMBEDDING__API_KEY": "none-is-needed",
        "CHUNKHOUND_EMBEDDING__MODEL": "assay-static",
    }


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables, and put them back."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


#: What every reader of the table must know.
SUBSTITUTED: Final = (
    f"Substituted: semble's weights are on a hub that cannot be reached from here; it ran with those of {CARRIER}, "
    "which were trained on English and not on code. Its quality here says nothing of its published quality. Vectors "
    "have 256 numbers both; its own vocabulary is twice as large, which is some 30 MB more of memory.",
    "ChunkHound has no embeddings of its own; it was given Assay's static model by an OpenAI-compatible server on this "
    "machine, one vector for a text whether it is a question or code. Its quality is that of these vectors. "
    "chunkhound-regex reads the question as a regular expression, which a sentence hardly ever is.",
    "sia-code ran without its embeddings, whose model is on the same hub: BM25 alone.",
)
