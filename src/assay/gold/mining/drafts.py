"""Draft queries for a new gold set: from commits, documents, titles of tests and error messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from assay.errors import SetupError
from assay.gold.code_index import CodeIndex, DefinitionRef, SampleSize, is_peripheral, name_key, stem_all
from assay.gold.mining.docs import mine_docs
from assay.gold.mining.history import names_target, rank_history
from assay.gold.mining.intake import MAX_LEAKAGE, MIN_TARGET_LINES, Intent, normalize
from assay.gold.mining.questions import (
    VERBS,
    QueryTextRules,
    base_form,
    gerund,
    is_query_length,
    lower_first,
    stands_alone,
    weight,
    word_set,
)
from assay.gold.query_properties import is_copied, leakage, line_comments
from assay.gold.review.items import ItemOrigin
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content_words, is_prose
from assay.types import Span, Target


class DraftRules:
    count: int = 30  # results from fewer queries are unreliable
    fewest: int = 5  # with fewer, names of definitions are used too
    per_target: int = 3  # maximum drafts with the same first target
    similar: float = 0.5  # share of common stems from which two questions count as the same
    message: range = range(3, 11)  # words of a message
    values: int = 3  # maximum values in a message
    constant: int = 3  # minimum words between them
    longest: int = 200  # lines of a target
    known: float = 0.5  # minimum share of a document's words in the target
    title: int = 4  # minimum content words of a test title
    titled: float = 0.6  # minimum share of the words of a test title in the target
    alike: int = 4  # maximum functions that contain all words of a test title that the target contains


#: Words that refer to the text around a sentence.
_RELATIVE: Final = re.compile(
    r"\b(?:another|other|others|same|also|instead|too|however|you|your|now|only)\b", re.IGNORECASE
)
#: Scripts for developing or building the project, and mocks.
_TOOLING: Final = re.compile(
    r"^(?:scripts?|tools?|hack|ci|build|\.\w+)/|^(?:setup|noxfile|tasks|gulpfile|build|mix|conftest|\w+\.config)\.\w+$|(?:^|[_/.])mocks?[_/.]"
)
#: Attributes of tests: #[test], #[tokio::test] and #[cfg(test)] in Rust, @Test in Java.
_TEST_ATTRIBUTE: Final = re.compile(r"#\[(?:cfg\(test\)|(?:\w+::)*test\b)|@(?:\w+\.)*Test\b")
#: Statements with a message, and the question about it; the message may follow on the next lines.
_MESSAGES: Final = (
    (re.compile(r"\b(?:raise|throw|panic|fail|bail|abort|reject)\b|\b\w*(?:Error|Exception|Errorf|errors\.New)\b!?\s*\("
                r"|\b(?:anyhow|eyre|ensure|format_err|err_message)!\(|\bwith_context\(|\b(?:error|die)\(\"|\(stderr, "),
     'where does the error "{}" come from?'),
    (re.compile(r"\bwarn(?:ings?|f|ing_once)?\b(?:\.warn)?!?\s*\("), 'where does the warning "{}" come from?'),
    (re.compile(r"\b(?:debug|info|error|trace)!\(|\b(?:log|logg(?:er|ing)|slog|console)\w*\.(?:debug|info|error|exception|critical|log)f?\s*\("),
     'where do we log "{}"?'),
)  # fmt: skip
_ENVIRONMENT: Final = re.compile(
    r"(?:environ|getenv|Getenv|LookupEnv|env::var|process\.env|ENV)\W+([A-Z][A-Z0-9_]{3,})\b"
)
_STRING: Final = re.compile(r"\"((?:[^\"\\\n]|\\.)+)\"|'((?:[^'\\\n]|\\.)+)'|`([^`\n]+)`")
#: The constant beginning of a message, complete in itself: up to its end, a colon or a full stop.
_COMPLETE: Final = re.compile(
    r"^((?:[^%{}\\\"'`:;.()]|\(s\)|\w'\w)*(?:[^\s%{}\\\"'`:;.(),]|\(s\)))(?:$|: |:$|; |\.(?:\s|$)|\\n)"
)
#: The name of a package or a function before a message.
_PREFIX: Final = re.compile(r"^[\w./()]+: (?=.* )")
#: A value in a message, in the formats of C, Python, Rust, JavaScript and Ruby.
_VALUE: Final = re.compile(r"[\\\"'`]*(?:%[-+#0-9.]*[a-zA-Z]|[$#]?\{[^{}]*\})[\\\"'`]*")
#: A rule that the code enforces, in words that need no quotes.
_RULE: Final = re.compile(
    r"\w.* (?:must|cannot|can't|can only|may only|may not|should"
    r"|(?:is|are) (?:not allowed|required|mutually exclusive))\b"
)
#: Words of complete messages; texts without them are mostly prefixes of another error.
_TELLING: Final = re.compile(
    r"\b(?:not|no|cannot|can't|could|couldn't|failed|fails?|unable|invalid|un\w+ed|unknown|must|only|already|missing"
    r"|requir\w+|accepts|exactly|(?:at )?(?:most|least)|\w+n't|expected"
    r"|too|never|should|exceed\w*|illegal|ambiguous|multiple|duplicate|mismatch|disabled|closed)\b",
    re.IGNORECASE,
)
#: Methods of errors; the code that raises them is elsewhere.
_DESCRIBES_ERROR: Final = word_set("Error error message String __str__ __repr__ to_s fmt toString description")
_OPEN_ENDS: Final = word_set(
    "a an and as at be been but by for from got in is not of on or that the to with was has have are were should must"
)
_FAILURES: Final = word_set("bad cannot could error expected failed invalid unable unexpected unknown")
#: Stems of words that templates add.
_TEMPLATE: Final = stem_all(
    word_set("where what how which code come do does error warning log enforce handle support makes prevents")
)
#: The title of a test or of a group of tests in JavaScript and Ruby.
_TEST_TITLE: Final = re.compile(
    r"(?P<indent>\s*)(?P<word>describe|context|suite|it|test|specify)(?:\.\w+)?[ (]\s*"
    r"(?P<quote>['\"`])(?P<title>.+?)(?<!\\)(?P=quote)"
)
_TEST_GROUPS: Final = word_set("describe context suite")
_GROUP_NAME: Final = re.compile(r"^(?:\w+\.)*[.#]?([A-Za-z_$][\w$]*[!?]?)=?\s*(?:\(.*)?$")
#: Verbs of test titles that say too little about the code.
_NO_TITLE: Final = word_set("work be have pass get use do make test try support accept take")
_AFTER: Final = 3  # lines of a statement in which its message is looked for


def draft_queries(code: CodeIndex, count: int = DraftRules.count) -> tuple[Intent, ...]:
    """Return up to `count` drafts from commits, documents, tests and messages; from names if these are too few."""
    try:
        history = rank_history(code)
    except SetupError:
        history = []
    history = [i for i in history if not (_is_tooling(i) or _is_about_test(code, i))]
    documents = [i for i in mine_docs(code, SampleSize(count, count)).intents if _fits(code, i)]
    messages = _interleave(i for i in message_intents(code) if not _is_tooling(i))
    drafts: dict[tuple[str, int], Intent] = {}
    texts: list[frozenset[str]] = []

    def is_new(intent: Intent) -> bool:
        words = stem_all(content_words(intent.text)) - _TEMPLATE
        known = any(len(words & other) >= DraftRules.similar * len(words | other) for other in texts)
        texts.extend([] if known else [words])
        return not known

    tests = _interleave(i for i in test_intents(code) if not _is_tooling(i))
    for turn in range(DraftRules.per_target):
        for intent in (*history, *documents, *tests, *messages):
            key = intent.targets[0].anchor, turn
            if len(drafts) < count and key not in drafts and is_new(intent):
                drafts[key] = intent
    if len(drafts) < DraftRules.fewest:
        for intent in name_intents(code)[: DraftRules.fewest - len(drafts)]:
            drafts.setdefault((intent.targets[0].anchor, 0), intent)
    return tuple(drafts.values())


def _is_tooling(intent: Intent) -> bool:
    return _TOOLING.search(intent.targets[0].span.path) is not None


def _is_about_test(code: CodeIndex, intent: Intent) -> bool:
    return any(_is_test(code, ref) for ref in code.definitions_of(intent.targets[0]))


def _fits(code: CodeIndex, intent: Intent) -> bool:
    """Return whether a question from a document is about the code of its only target."""
    refs = [ref for target in intent.targets for ref in code.definitions_of(target)]
    if not intent.text.startswith("which code ") or len(intent.targets) != 1 or _RELATIVE.search(intent.text):
        return False
    words = stem_all(parts(" ".join(content_words(intent.text)))) - {"code"}
    known = any(len(words & code.stems_of(ref)) >= DraftRules.known * len(words) for ref in refs)
    return known and not any(is_copied(intent.text, code.documentation(ref)) for ref in refs)


def _interleave(intents: Iterator[Intent]) -> list[Intent]:
    """Return intents in rounds of one per file."""
    seen: Counter[str] = Counter()
    rounds: list[tuple[int, int, Intent]] = []
    for number, intent in enumerate(intents):
        path = intent.targets[0].span.path
        rounds.append((seen[path], number, intent))
        seen[path] += 1
    return [intent for _, _, intent in sorted(rounds, key=lambda entry: entry[:2])]


def message_intents(code: CodeIndex) -> Iterator[Intent]:
    """Yield a question for each message or environment variable that occurs in one definition of the project only."""
    texts = "\n".join(file.text for path, file in code.files.items() if code.is_own_code(path)).casefold()
    for path, file in sorted(code.files.items()):
        lines = file.text.split("\n") if code.is_own_code(path) else []
        for number in range(1, len(lines) + 1):
            text, question = _ask_message(lines, number)
            ref = code.definition_at(path, number) if text and texts.count(text.casefold()) == 1 else None
            if (
                ref is None
                or ref.definition.kind not in ("function", "method")
                or ref.name in _DESCRIBES_ERROR
                or ref.names[0].endswith(("Error", "Exception"))
            ):
                continue
            target = code.anchor(ref) if _can_be_target(code, ref) else None
            copied = is_copied(question, code.documentation(ref))
            if target is not None and not copied and not names_target(text, ref):
                yield Intent(question, (target,), ItemOrigin("rules", f"line {number} of {path}"))


def _ask_message(lines: Sequence[str], number: int) -> tuple[str, str]:
    line = lines[number - 1]
    if line.lstrip().startswith(("#", "//", "*", "/*")):
        return "", ""
    if variable := _ENVIRONMENT.search(line):
        return variable[1], f"where do we read the environment variable {variable[1]}?"
    for pattern, question in _MESSAGES:
        found = pattern.search(line)
        string = found and _STRING.search("\n".join(lines[number - 1 : number - 1 + _AFTER]), found.start())
        written = _PREFIX.sub("", next(filter(None, string.groups()))) if string else ""
        message = _plain_message(written)
        if not message and (values := _VALUE.findall(written)):
            message = _plain_message(_VALUE.sub("…", written)) if len(values) <= DraftRules.values else ""
            constant = max((part.strip() for part in message.split("…")), key=lambda part: len(part.split()))
            if len(constant.split()) >= DraftRules.constant and _TELLING.search(message):
                return constant, question.format(message)
            continue
        if message and _RULE.match(message) and "error" in question:
            return message, f"where do we enforce that {lower_first(message)}?"
        if message and _TELLING.search(message):
            return message, question.format(message)
    return "", ""


def _plain_message(text: str) -> str:
    """Return the constant beginning of an error message, or "" if it is unsuitable for a question."""
    match = _COMPLETE.match(text)
    start = match[1].strip(" !<>=-") if match else ""
    words = start.split()
    if (
        len(words) not in DraftRules.message
        or words[-1].lower() in _OPEN_ENDS
        or words[0] in ("is", "are", "was", "has", "and", "or", "of")
        or words[-1][0].isdigit()
        or not is_prose(start, len(start))
    ):
        return ""
    return start if len(set(content_words(start)) - _FAILURES) > 1 and stands_alone(start) else ""


def _can_be_target(code: CodeIndex, ref: DefinitionRef) -> bool:
    fits = code.can_be_target(ref) and MIN_TARGET_LINES <= ref.lines <= DraftRules.longest
    return fits and not _is_test(code, ref)


def _is_test(code: CodeIndex, ref: DefinitionRef) -> bool:
    file = code.files[ref.path]
    lines, position = file.text.split("\n"), ref.position
    while position >= 0:
        definition = file.definitions[position]
        head = lines[max(definition.start - 2, 0) : definition.name_line]
        if any(_TEST_ATTRIBUTE.match(line.strip()) for line in head):
            return True
        position = definition.parent
    return False


def test_intents(code: CodeIndex) -> Iterator[Intent]:
    """Yield a question for each test title in JavaScript or Ruby whose groups name one definition of the project."""
    intents = list(_title_intents(code))
    asked: dict[str, set[str]] = {}
    for intent in intents:
        asked.setdefault(normalize(intent.text), set()).add(intent.targets[0].anchor)
    fitting = [intent for intent in intents if len(asked[normalize(intent.text)]) == 1]
    yield from sorted(fitting, key=lambda intent: -weight(intent.text))  # the most specific first


def _title_intents(code: CodeIndex) -> Iterator[Intent]:
    for path, file in sorted(code.files.items()):
        groups: list[tuple[int, str]] = []  # indentation and title
        for number, line in enumerate(file.text.split("\n") if is_peripheral(path) else (), 1):
            found = _TEST_TITLE.match(line)
            if found is None:
                continue
            indent, title = len(found["indent"]), found["title"]
            groups = [group for group in groups if group[0] < indent]
            if found["word"] in _TEST_GROUPS:
                groups.append((indent, title))
                continue
            question = _ask_title(title)
            ref = _named_by(code, [title for _, title in groups]) if question else None
            target = code.anchor(ref) if ref is not None and _can_be_target(code, ref) else None
            if question is None or ref is None or target is None:
                continue
            words = stem_all(parts(" ".join(content_words(question)))) - _TEMPLATE
            if (
                len(words & code.stems_of(ref)) >= max(2, DraftRules.titled * len(words))
                and weight(question) >= DraftRules.title
                and code.count_containing(words & code.stems_of(ref)) <= DraftRules.alike
                and not names_target(question, ref)
                and not is_copied(question, f"{code.documentation(ref)}\n\n{line_comments(code.text(ref))}")
                and leakage(question, (target,)) < MAX_LEAKAGE
            ):
                yield Intent(question, (target,), ItemOrigin("rules", f"the test on line {number} of {path}"))


def _ask_title(title: str) -> str | None:
    """Turn the title of a test into a question; return None if it does not say what the code does."""
    plain = re.sub(r"^should (?:also )?|\\(?=['\"])", "", title).strip(" .")
    negated = re.match(r"(?:not|never|(?:does|do)(?: not|n't)) (\w+)(.*)", plain)
    first, _, rest = (negated[1], "", negated[2].strip()) if negated else plain.partition(" ")
    verb = base_form(first.lower())
    if verb not in VERBS - _NO_TITLE or not rest or not is_query_length(plain) or not stands_alone(plain):
        return None
    if not is_prose(plain, QueryTextRules.most) or (not negated and title.startswith(first) and verb == first.lower()):
        return None
    return f"where do we avoid {gerund(verb)} {rest}?" if negated else f"where do we {verb} {rest}?"


def _named_by(code: CodeIndex, groups: Sequence[str]) -> DefinitionRef | None:
    """Return the only function or class that the titles of test groups name, the innermost first."""
    for at in range(len(groups) - 1, -1, -1):
        named = _GROUP_NAME.match(groups[at])
        same = code.by_name.get(name_key(named[1]), ()) if named else ()
        refs = [ref for ref in same if code.can_be_target(ref) and ref.name == named[1]] if named else []
        outer = {title.strip(".#:").lower() for title in groups[:at]}
        inside = [
            ref for ref in refs if outer & {PurePosixPath(ref.path).stem.lower(), *map(str.lower, ref.names[:-1])}
        ]
        scoped = [ref for ref in refs if any(f"{scope}.{ref.name}" in code.text(ref).split("\n")[0] for scope in outer)]
        for chosen in (refs, inside, scoped):
            if len(chosen) == 1:
                return chosen[0]
    return None


def name_intents(code: CodeIndex) -> list[Intent]:
    """Return a question about the longest public function of each file, then about files without such a function."""
    longest: dict[str, DefinitionRef] = {}
    for ref in sorted(filter(code.can_be_target, code.definitions), key=lambda ref: (-ref.lines, ref.path)):
        private = any(name.startswith("_") for name in ref.names)
        repeated = len(code.by_name[name_key(ref.name)]) > 1
        if ref.definition.kind in ("function", "method") and not private and not repeated and _can_be_target(code, ref):
            longest.setdefault(ref.path, ref)
    named = [(code.anchor(ref), ref.name) for ref in longest.values()]
    named += [
        (Target(Span(file.path)), PurePosixPath(file.path).stem)
        for file in code.corpus.files
        if file.path not in longest and file.kind == "code" and not is_peripheral(file.path)
    ]
    intents = []
    for target, name in named:
        words = split(name) or (name,)
        text = f"where do we {' '.join(words)}?" if words[0] in VERBS else f"where is {' '.join(words)} done?"
        if target is not None:
            intents.append(Intent(text, (target,), ItemOrigin("names", f"a name in {target.span.path}")))
    return intents
