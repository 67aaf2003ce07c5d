"""Gold sets that a repository writes about itself: names, documentation sentences, keywords, commit messages."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from assay.corpus import read_bytes, read_text
from assay.corpus.git import find_top
from assay.errors import ConfigError, SetupError
from assay.gold.building import path_problem
from assay.gold.history import ChangedLines, Commit, changes, list_commits, old_texts
from assay.gold.native.nodes import suggest
from assay.syntax.grammars import grammar_name, load_grammar
from assay.syntax.identifiers import words
from assay.syntax.outline import Definition, outline
from assay.syntax.prose import (
    content,
    is_idle,
    is_prose,
    is_trivial,
    names_it,
    plain_subject,
    sentences,
    without_leading_name,
)
from assay.types import Corpus, CorpusSpec, GoldSet, Query, SourceFile, Span, Target

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from tree_sitter import Node

    from assay.syntax.outline import Definition


KINDS: Final = ("symbol", "doc", "keyword", "commit")


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How many queries are drawn, and which."""

    count: int = 40  # of each kind; thirty are the least that says anything, and some are lost to duplicates
    max_per_file: int = 4  # one large file would otherwise be the set
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Targets:
    """Which definitions can be an answer."""

    longest: int = 100  # lines; what is longer is met by every second result, and says little about where
    shortest_documented: int = 3  # lines; a sentence on a one-line declaration mostly speaks of the group around it
    shortest_name: int = 3  # characters; `i` and `fn` are no queries
    largest_file: int = 1_000_000  # bytes; a source file beyond is generated


@dataclass(frozen=True, slots=True)
class Sentences:
    """Which sentences can be a query."""

    fewest: int = 4  # content words; fewer are a label, not a description
    most: int = 40  # words; more are a paragraph without a full stop
    keywords: int = 3  # words of a keyword query: what people type into a search box


@dataclass(frozen=True, slots=True)
class Commits:
    """Which commits can be a query."""

    files: int = 3  # most, tests and examples apart; a wider change is about no place in particular
    definitions: int = 4  # most; the same
    tried: int = 5  # times as many as are wanted; most commits touch something that has gone or grown since
    looked_at: int = 3_000  # of the newest; older code has mostly moved, and git's answer stays small


DRAW = SampleSize()
TARGETS = Targets()
SENTENCES = Sentences()
COMMITS = Commits()


@dataclass(frozen=True, slots=True, order=True)
class SynthTarget:
    """A further place that answers."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, order=True)
class SynthQuery:
    """A query that could be asked: where its answer lies, and its text; a commit may have changed several places."""

    path: str
    start: int
    end: int
    text: str
    others: tuple[SynthTarget, ...] = ()


def draw(candidates: Sequence[SynthQuery], wanted: SampleSize, rng: np.random.Generator) -> tuple[SynthQuery, ...]:
    """Draw candidates in rounds, one of each file a round, until there are enough; the result is in path order."""
    by_file: dict[str, list[SynthQuery]] = {}
    for candidate in sorted(candidates):
        by_file.setdefault(candidate.path, []).append(candidate)
    queues = [[own[i] for i in rng.permutation(len(own))] for own in by_file.values()]
    order = rng.permutation(len(queues))
    rounds = [queues[i][turn] for turn in range(wanted.max_per_file) for i in order if turn < len(queues[i])]
    return tuple(sorted(rounds[: wanted.count]))


def keywords(asked: Sequence[SynthQuery], texts: Iterable[str]) -> tuple[SynthQuery, ...]:
    """Keep of each sentence the words that fewest texts hold, in their order; a word that none holds finds nothing."""
    wanted = frozenset(word for one in asked for word in content(one.text))
    frequency = Counter(word for text in texts for word in wanted.intersection(words(text)))
    made = [replace(one, text=" ".join(_rarest(content(one.text), frequency))) for one in asked]
    return tuple(one for one in made if one.text.count(" ") == SENTENCES.keywords - 1)


def _rarest(candidates: Sequence[str], frequency: Counter[str]) -> list[str]:
    present = [(frequency[word], place) for place, word in enumerate(candidates) if frequency[word]]
    chosen = sorted(present)[: SENTENCES.keywords]
    return [candidates[place] for place in sorted(place for _, place in chosen)]


def first_sentence(comment: str) -> str | None:
    """Give the first sentence of a comment without its markers and markup, if it is one."""
    sentence = next(sentences(comment), "")
    return sentence if is_prose(sentence, SENTENCES.most) and not is_idle(sentence) else None


#: The quotes of a documentation string. They stay when it is blanked, or a body of nothing else would not parse.
_QUOTES: Final = re.compile(rb"""[rRbBuUfF]{0,2}(\"\"\"|'''|"|')""")


@dataclass(frozen=True, slots=True)
class CommentSpan:
    """A comment or a documentation string: its lines, and its bytes in the UTF-8 of the text."""

    start: int
    end: int
    first: int
    last: int
    text: str
    inside: bool  # a documentation string in the body of what it documents
    alone: bool  # nothing but blanks stands before it on its line


def comments(text: str, grammar: str) -> tuple[CommentSpan, ...]:
    """List the comments and documentation strings of a text, in order."""
    from tree_sitter import QueryCursor

    loaded = load_grammar(grammar)
    source = text.encode("utf-8", "surrogatepass")
    captures = QueryCursor(loaded.query).captures(loaded.parser.parse(source).root_node)
    docs = {(n.start_byte, n.end_byte): _stretch(n, source, inside=True) for n in captures.get("doc", ())}
    plain = {(n.start_byte, n.end_byte): _stretch(n, source, inside=False) for n in captures.get("comment", ())}
    found = plain | docs
    return tuple(found[place] for place in sorted(found))


def documentation(
    definitions: Sequence[Definition], stretches: Sequence[CommentSpan]
) -> tuple[tuple[CommentSpan, ...], ...]:
    """Give what documents each definition: the string in its body, else the comments directly above."""
    starts = [definition.start for definition in definitions]
    strings: dict[int, CommentSpan] = {}
    for stretch in stretches:
        if stretch.inside:
            strings.setdefault(_innermost(definitions, starts, stretch), stretch)
    above = [s for s in stretches if s.alone and not s.inside]
    lines = [s.start for s in above]
    return tuple(
        (strings[position],) if position in strings else _above(definition, above, lines)
        for position, definition in enumerate(definitions)
    )


def blank(text: str, stretches: Sequence[CommentSpan]) -> str:
    """Take stretches out of a text; every line keeps its number."""
    source = text.encode("utf-8", "surrogatepass")
    pieces: list[bytes] = []
    at = 0
    for stretch in sorted(set(stretches), key=lambda s: (s.first, s.last)):
        pieces += [source[at : stretch.first], re.sub(rb"[^\r\n]+", b"", source[stretch.first : stretch.last])]
        at = stretch.last
    return b"".join([*pieces, source[at:]]).decode("utf-8", "surrogatepass")


def _above(definition: Definition, alone: Sequence[CommentSpan], lines: Sequence[int]) -> tuple[CommentSpan, ...]:
    between = alone[bisect_left(lines, definition.start) : bisect_left(lines, definition.name_line)]
    return tuple(stretch for stretch in between if stretch.end < definition.name_line)


def _innermost(definitions: Sequence[Definition], starts: Sequence[int], stretch: CommentSpan) -> int:
    for position in range(bisect_right(starts, stretch.start) - 1, -1, -1):
        if definitions[position].name_line <= stretch.start and stretch.end <= definitions[position].end:
            return position
    return -1


def _stretch(node: Node, source: bytes, *, inside: bool) -> CommentSpan:
    first, last = node.start_byte, node.end_byte
    quotes = _QUOTES.match(source, first, last) if inside else None
    if quotes is not None:
        first, last = quotes.end(), max(quotes.end(), last - len(quotes[1]))
    elif source[first:last].endswith(b"\n"):
        last -= 1  # some grammars count the end of the line in
    line_start = source.rfind(b"\n", 0, node.start_byte) + 1
    start = node.start_point[0] + 1
    end = start + source.count(b"\n", node.start_byte, last)
    text = source[first:last].decode("utf-8", "replace")
    return CommentSpan(start, end, first, last, text, inside, not source[line_start : node.start_byte].strip())


#: They have grammars, but what they define is no code: nobody documents a key or a selector.
_NO_CODE: Final = frozenset({"css", "html", "json", "toml", "yaml"})
#: What can be asked for. Properties and fields are left to the class they are in.
ASKED: Final = frozenset({"function", "method", "class", "interface", "enum", "type", "macro", "constant"})
#: Folders and files whose code is about other code: real questions seldom mean them.
_ASIDE: Final = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|testdata|fixtures?|examples?|benchmarks?|vendor|third_party|conftest)(?:[/_.-]|$)"
    r"|(?:^|/)docs/|Tests?\.\w+$|Spec\.\w+$"
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A source file with what it defines."""

    path: str
    language: str
    text: str
    definitions: tuple[Definition, ...]
    comments: tuple[CommentSpan, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """A corpus and its source files, in path order."""

    corpus: Corpus
    files: tuple[Parsed, ...]


def survey(corpus: Corpus) -> Survey:
    """Read and parse the source files of a corpus."""
    found = (_parsed(corpus, file) for file in corpus.files if file.size <= TARGETS.largest_file)
    return Survey(corpus, tuple(parsed for parsed in found if parsed is not None))


def is_aside(path: str) -> bool:
    """Tell whether a path lies in tests, examples or other people's code, or cannot be written in a gold file."""
    return bool(_ASIDE.search(path)) or path_problem(path) is not None


def _parsed(corpus: Corpus, file: SourceFile) -> Parsed | None:
    if file.kind != "code" or file.language in _NO_CODE:
        return None
    text = read_text(corpus, file.path)
    grammar = grammar_name(file.path, file.language, text)
    if grammar is None:
        return None
    parsed = outline(text, grammar)
    # What the outline refuses to parse, because it would take too long, is not parsed for its comments either.
    found = comments(text, grammar) if parsed.problem is None or parsed.definitions else ()
    return Parsed(file.path, grammar, text, parsed.definitions, found)


@dataclass(frozen=True, slots=True)
class Documented:
    """Sentences that were drawn, and the comments they stand in, by path: those leave the corpus."""

    asked: tuple[SynthQuery, ...]
    comments: Mapping[str, tuple[CommentSpan, ...]]


def documented(survey: Survey, wanted: SampleSize, rng: np.random.Generator) -> Documented:
    """Draw sentences that stand over exactly one definition of the corpus."""
    every = dict(pair for file in survey.files for pair in _sentences(file))
    times = Counter(asked.text.lower() for asked in every)
    fit = [asked for asked in every if times[asked.text.lower()] == 1 and not is_aside(asked.path)]
    drawn = draw(fit, wanted, rng)
    comments: dict[str, tuple[CommentSpan, ...]] = {}
    for asked in drawn:
        comments[asked.path] = (*comments.get(asked.path, ()), *every[asked])
    return Documented(drawn, comments)


def _sentences(file: Parsed) -> Iterator[tuple[SynthQuery, tuple[CommentSpan, ...]]]:
    found = documentation(file.definitions, file.comments)
    for definition, comments in zip(file.definitions, found, strict=True):
        if definition.kind not in ASKED or not comments:
            continue
        sentence = doc_question(comments, definition, file.language)
        start = _first_line(definition, comments)
        if sentence and TARGETS.shortest_documented <= definition.end - start + 1 <= TARGETS.longest:
            yield SynthQuery(file.path, start, definition.end, sentence), comments


def doc_question(comments: Sequence[CommentSpan], definition: Definition, language: str) -> str | None:
    """Make a question of a comment, if it has words enough and does not give the name away."""
    sentence = first_sentence("\n".join(comment.text for comment in comments))
    if sentence and language == "go":
        sentence = without_leading_name(sentence, definition.name)
    if not sentence or names_it(sentence, definition.name) or len(content(sentence)) < SENTENCES.fewest:
        return None
    return sentence


def _first_line(definition: Definition, comments: Sequence[CommentSpan]) -> int:
    gone = {line for c in comments if not c.inside for line in range(c.start, c.end + 1)}
    return next(line for line in range(definition.start, definition.end + 2) if line not in gone)


#: Blocks that go by the name of a type which is defined elsewhere.
_EXTENDS: Final = re.compile(r"(?:\w+ )*(?:impl|extension|defimpl)\b")
#: What keeps a C header from being read twice.
_GUARD: Final = re.compile(r"\w*_H(?:PP|XX)?_*|\w*_INCLUDED_*")


def symbols(survey: Survey, wanted: SampleSize, rng: np.random.Generator) -> tuple[SynthQuery, ...]:
    """Draw names that are defined exactly once."""
    times = Counter(d.name for file in survey.files for d in file.definitions if not _EXTENDS.match(d.signature))
    candidates = [
        SynthQuery(file.path, definition.start, definition.end, definition.name)
        for file in survey.files
        if not is_aside(file.path)
        for definition in file.definitions
        if times[definition.name] == 1 and _can_be_asked(definition)
    ]
    return draw(candidates, wanted, rng)


def _can_be_asked(definition: Definition) -> bool:
    name = definition.name
    lines = definition.end - definition.start + 1
    speaks = len(name) >= TARGETS.shortest_name and name.strip("_").isidentifier() and not name.startswith("__")
    guard = definition.kind in ("macro", "constant") and _GUARD.fullmatch(name)
    own = definition.kind in ASKED and not _EXTENDS.match(definition.signature)
    return speaks and own and not guard and lines <= TARGETS.longest


@dataclass(frozen=True, slots=True)
class ChangedDefinition:
    """A definition that a commit changed, and its place among those that the file has now."""

    path: str
    names: tuple[str, ...]  # its own last, those around it before
    position: int | None  # None when it is gone, when several go by its names, or when nothing is known
    written: int = 0  # lines of it that the commit wrote
    lines: int = 0  # that it had then


def touched(root: Path, ids: Sequence[str], now: Mapping[str, Parsed]) -> dict[str, tuple[ChangedDefinition, ...]]:
    """Find, commit by commit, the definitions it changed in the files there are now."""
    written = [change for change in changes(root, ids) if change.path in now]
    then = old_texts(root, written)
    found: dict[str, tuple[ChangedDefinition, ...]] = {}
    for change in written:
        here = now[change.path]
        places = (
            tuple(_touched(change, then[change], here))
            if change in then
            else (ChangedDefinition(change.path, (), None),)
        )
        found[change.commit] = (*found.get(change.commit, ()), *places)
    return found


def qualified(definitions: Sequence[Definition], position: int) -> tuple[str, ...]:
    """Name a definition with those around it, the outermost first."""
    names: list[str] = []
    while position >= 0:
        names.append(definitions[position].name)
        position = definitions[position].parent
    return tuple(reversed(names))


def innermost(definitions: Sequence[Definition], line: int) -> int:
    """Find the definition that a line belongs to; -1 when it is in none."""
    around = [i for i, d in enumerate(definitions) if d.kind in ASKED and d.start <= line <= d.end]
    return around[-1] if around else -1


def _touched(change: ChangedLines, text: str, file: Parsed) -> Iterator[ChangedDefinition]:
    before = outline(text, file.language).definitions
    lines: dict[tuple[str, ...], int] = {}
    sizes: dict[tuple[str, ...], int] = {}
    for line in change.lines:
        position = innermost(before, line)
        if position >= 0:
            name = qualified(before, position)
            lines[name] = lines.get(name, 0) + 1
            sizes[name] = before[position].end - before[position].start + 1
    names = [qualified(file.definitions, i) for i in range(len(file.definitions))]
    for name in sorted(lines):
        here = [i for i, known in enumerate(names) if known == name]
        yield ChangedDefinition(file.path, name, here[0] if len(here) == 1 else None, lines[name], sizes[name])


@dataclass(frozen=True, slots=True)
class CommitSubjects:
    """Subjects that were drawn, and why there are none."""

    asked: tuple[SynthQuery, ...] = ()
    notes: tuple[str, ...] = ()


def commits(survey: Survey, wanted: SampleSize, rng: np.random.Generator) -> CommitSubjects:
    """Draw commits that changed a few definitions which are still there."""
    corpus = survey.corpus
    if corpus.spec.kind != "path" or find_top(corpus.root.resolve()) is None:
        return CommitSubjects(notes=("commit: not a git work tree, so there is no such set",))
    try:
        candidates = _candidates(survey, wanted, rng)
    except SetupError as error:
        return CommitSubjects(notes=(f"commit: {error.message}, so there is no such set",))
    return CommitSubjects(draw(candidates, wanted, rng))


def _candidates(survey: Survey, wanted: SampleSize, rng: np.random.Generator) -> list[SynthQuery]:
    root = survey.corpus.root.resolve()
    now = {file.path: file for file in survey.files if not is_aside(file.path)}
    fitting = _fitting(list_commits(root, COMMITS.looked_at), now)
    sample = [fitting[i] for i in rng.permutation(len(fitting))[: COMMITS.tried * wanted.count]]
    answers = _answers(root, [commit.id for commit in sample], now)
    return [
        SynthQuery(first.path, first.start, first.end, plain_subject(commit.subject), tuple(others))
        for commit in sample
        if 0 < len(places := answers.get(commit.id, ())) <= COMMITS.definitions
        for first, *others in [sorted(places)]
    ]


def speaks(subject: str) -> bool:
    """Tell whether a subject says what changed."""
    asked = plain_subject(subject)
    plain = asked.isprintable() and is_prose(asked, SENTENCES.most) and not is_trivial(subject)
    return plain and len(content(asked)) >= SENTENCES.fewest


def _fitting(found: Sequence[Commit], now: Mapping[str, Parsed]) -> list[Commit]:
    times = Counter(plain_subject(commit.subject).lower() for commit in found)
    return [
        commit
        for commit in found
        if not now.keys().isdisjoint(commit.paths)
        and sum(not is_aside(path) for path in commit.paths) <= COMMITS.files
        and times[plain_subject(commit.subject).lower()] == 1
        and speaks(commit.subject)
    ]


def _answers(root: Path, ids: Sequence[str], now: Mapping[str, Parsed]) -> dict[str, list[SynthTarget]]:
    answers: dict[str, list[SynthTarget]] = {}
    for commit, found in touched(root, ids, now).items():
        places = [_place(one, now) for one in found]
        if None not in places:
            answers[commit] = [place for place in places if place is not None]
    return answers


def _place(one: ChangedDefinition, now: Mapping[str, Parsed]) -> SynthTarget | None:
    if one.position is None:
        return None
    here = now[one.path].definitions[one.position]
    return SynthTarget(one.path, here.start, here.end) if here.end - here.start < TARGETS.longest else None


#: The copy without the comments that were made into questions, beside the gold files.
COPY = "corpus"
#: The phrasing that each kind is.
_FORMS: Mapping[str, str] = {"symbol": "keyword", "doc": "human", "keyword": "keyword", "commit": "human"}
_STRIPPED = frozenset({"doc", "keyword"})


@dataclass(frozen=True, slots=True)
class Sets:
    """Gold sets of one repository, the files that they are to be asked on, and what could not be made."""

    golds: tuple[GoldSet, ...]
    stripped: Mapping[str, bytes] = field(default_factory=dict)  # path -> content; empty when no set needs it
    notes: tuple[str, ...] = ()


def synthesise(
    corpus: Corpus, *, name: str, kinds: Sequence[str] = KINDS, wanted: SampleSize = DRAW, parsed: Survey | None = None
) -> Sets:
    """Make gold sets of a corpus: the same corpus, kinds and seed give the same sets."""
    _check(kinds, wanted)
    maker = _Maker(parsed or survey(corpus), wanted)
    asked = {kind: maker.make(kind) for kind in KINDS if kind in kinds}
    golds = tuple(_gold(kind, queries, corpus, name, wanted) for kind, queries in asked.items() if queries)
    notes = (*maker.notes, *_shortfalls(asked, wanted, maker.notes))
    return Sets(golds, maker.stripped if _STRIPPED.intersection(k for k, q in asked.items() if q) else {}, notes)


def _check(kinds: Sequence[str], wanted: SampleSize) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise ConfigError(f"there is no kind {kind!r} of synthetic gold", hint=suggest(kind, KINDS))
    for number, what in ((wanted.count, "count"), (wanted.max_per_file, "max-per-file")):
        if number < 1:
            raise ConfigError(f"--{what} is {number}", hint="ask for at least one query")
    if wanted.seed < 0:
        raise ConfigError(f"--seed is {wanted.seed}", hint="seeds begin at 0")


@dataclass(slots=True)
class _Maker:
    """The state of one making: what is documented is drawn once, for sentences and keywords."""

    survey: Survey
    wanted: SampleSize
    notes: list[str] = field(default_factory=list)
    stripped: dict[str, bytes] = field(default_factory=dict)
    _documented: Documented | None = None

    def make(self, kind: str) -> tuple[SynthQuery, ...]:
        if kind == "symbol":
            return symbols(self.survey, self.wanted, self._rng(kind))
        if kind == "doc":
            return self._sentences().asked
        if kind == "keyword":
            asked = self._sentences().asked  # fills what is stripped
            return keywords(asked, (data.decode("utf-8", "replace") for data in self.stripped.values()))
        history = commits(self.survey, self.wanted, self._rng(kind))
        self.notes += history.notes
        return history.asked

    def _sentences(self) -> Documented:
        if self._documented is None:
            self._documented = documented(self.survey, self.wanted, self._rng("doc"))
            self.stripped |= _stripped(self.survey, self._documented)
        return self._documented

    def _rng(self, kind: str) -> np.random.Generator:
        """Give each kind a stream of its own, so that leaving one out changes no other."""
        import numpy as np

        return np.random.default_rng([self.wanted.seed, KINDS.index(kind)])


def _stripped(survey: Survey, documented: Documented) -> Iterator[tuple[str, bytes]]:
    texts = {file.path: file.text for file in survey.files}
    for file in survey.corpus.files:
        if file.path in documented.comments:
            yield file.path, blank(texts[file.path], documented.comments[file.path]).encode("utf-8", "surrogatepass")
        else:
            yield file.path, read_bytes(survey.corpus, file.path)


def _gold(kind: str, asked: Sequence[SynthQuery], corpus: Corpus, name: str, wanted: SampleSize) -> GoldSet:
    queries = tuple(_query(kind, number, one) for number, one in enumerate(asked, 1))
    provenance = {
        "synthetic": kind,
        "made": f"assay gold synth, seed {wanted.seed}, at most {wanted.count} queries",
        "from": f"{name}, {len(corpus.files)} files, digest {corpus.digest[:16]}",
    }
    if corpus.revision:
        provenance["revision"] = corpus.revision
    spec = CorpusSpec("path", COPY) if kind in _STRIPPED else corpus.spec
    return GoldSet(f"{name}-synthetic-{kind}", spec, queries, provenance)


def _query(kind: str, number: int, asked: SynthQuery) -> Query:
    spans = [Span(asked.path, asked.start, asked.end), *(Span(o.path, o.start, o.end) for o in asked.others)]
    targets = tuple(Target(span) for span in dict.fromkeys(spans))
    return Query(f"{kind}-{number:03d}", {_FORMS[kind]: asked.text}, targets, tags={"synthetic": kind})


def _shortfalls(asked: Mapping[str, Sequence[SynthQuery]], wanted: SampleSize, known: Sequence[str]) -> Iterator[str]:
    missing = {
        "symbol": "no definition with a name of its own was found",
        "doc": "no documented definitions were found",
        "keyword": "no documented definitions were found",
        "commit": "no commit fits",
    }
    for kind, queries in asked.items():
        if not queries and not (kind == "commit" and known):
            yield f"{kind}: {missing[kind]}, so there is no such set"
        elif 0 < len(queries) < wanted.count:
            yield f"{kind}: {len(queries)} of {wanted.count} queries: no more were found that fit"
