"""Engines that break exactly one law each. Imported by the tests, and by name from processes that audits start."""

import os
import random
import re
import unicodedata
from collections import Counter
from itertools import pairwise

from assay.corpus import read_text
from assay.corpus.ignore import select_paths
from assay.errors import EngineError, EngineTimeoutError
from assay.types import Hit


class Clean:
    """Definitions by the words they share with the query: keeps every law."""

    config = {"kind": "specimen"}

    def __init__(self):
        self.sessions = 0

    def open(self, corpus):
        self.sessions += 1
        return self.Session(corpus, self.sessions)

    class Session:
        filters = frozenset({"paths", "languages"})

        def __init__(self, corpus, number):
            self.number = number
            self.asked: Counter[tuple[str, int]] = Counter()
            self.corpus = corpus
            self.read(corpus)

        def read(self, corpus):
            self.corpus = corpus
            self.languages = {file.path: file.language for file in corpus.files}
            self.chunks = []
            for file in corpus.files:
                lines = read_text(corpus, file.path).split("\n")
                heads = [at for at, line in enumerate(lines, 1) if line.startswith(("def ", "function "))]
                for start, stop in pairwise([*heads, len(lines)]):
                    text = "\n".join(lines[start - 1 : stop - 1])
                    self.chunks.append((file.path, start, max(start, stop - 1), words(f"{file.path} {text}")))

        def ranked(self, query, k):
            asked = set(words(query))
            found = sorted(self.chunks, key=lambda chunk: (-len(asked & set(chunk[3])), chunk[:3]))
            return [
                Hit(path, start, end, len(asked & set(own)) + 1 - at / 1000)
                for at, (path, start, end, own) in enumerate(found)
            ]

        def search(self, query, k):
            self.asked[query, k] += 1
            return self.ranked(query, k)[:k]

        def search_filtered(self, query, k, wanted, seconds):
            chosen = select_paths(wanted.paths)
            hits = self.ranked(query, k)
            hits = [hit for hit in hits if not wanted.paths or chosen.selects(hit.path)]
            return [hit for hit in hits if not wanted.languages or self.languages[hit.path] in wanted.languages][:k]

        def update_within(self, corpus, seconds):
            self.read(corpus)

        def close(self):
            pass


def words(text):
    """Split a text into lower-case words, however Unicode writes them."""
    return re.findall(r"\w+", unicodedata.normalize("NFC", text).lower().replace("_", " "))


def swapped(hits):
    """Swap the two best places, not their scores."""
    if len(hits) < 2:
        return list(hits)
    one, two, *rest = hits
    return [Hit(two.path, two.start, two.end, one.score), Hit(one.path, one.start, one.end, two.score), *rest]


class Moody(Clean):
    class Session(Clean.Session):
        def search(self, query, k):
            hits = super().search(query, k)
            return swapped(hits) if self.asked[query, k] % 2 == 0 else hits


class Rescoring(Clean):
    class Session(Clean.Session):
        def search(self, query, k):
            hits = super().search(query, k)
            extra = 1e-7 * self.asked[query, k]
            return [Hit(hit.path, hit.start, hit.end, hit.score + extra) for hit in hits]


class NewEachTime(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            hits = super().ranked(query, k)
            return swapped(hits) if self.number % 2 == 0 else hits


class Hashing(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            hits = super().ranked(query, k)
            return swapped(hits) if hash(query) % 2 else hits


class Threaded(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            hits = super().ranked(query, k)
            return swapped(hits) if os.environ.get("OMP_NUM_THREADS") == "1" else hits


class Shallow(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            hits = super().ranked(query, k)
            return hits if k < 10 else swapped(hits)


class Generous(Clean):
    class Session(Clean.Session):
        def search(self, query, k):
            return self.ranked(query, k)[: k + 1]


class Stingy(Clean):
    class Session(Clean.Session):
        def search(self, query, k):
            return self.ranked(query, k)[: max(1, k - 1)]


class Stammering(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            hits = super().ranked(query, k)
            return [hits[0], hits[0], *hits[1:]]


class NotANumber(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            one, *rest = super().ranked(query, k)
            return [Hit(one.path, one.start, one.end, float("nan")), *rest]


class Zigzag(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            hits = super().ranked(query, k)
            return [Hit(hit.path, hit.start, hit.end, at % 3 / 10) for at, hit in enumerate(hits)]


class Flat(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            return [Hit(hit.path, hit.start, hit.end, 1.0) for hit in super().ranked(query, k)]


class Paired(Clean):
    """Two and two have one score, and those of the first pair change places."""

    class Session(Clean.Session):
        def search(self, query, k):
            hits = [Hit(h.path, h.start, h.end, -float(at // 3)) for at, h in enumerate(super().search(query, k))]
            return swapped(hits) if self.asked[query, k] % 2 == 0 else hits


class Distances(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            return [Hit(h.path, h.start, h.end, -(h.score or 0)) for h in super().ranked(query, k)]


class Unscored(Clean):
    class Session(Clean.Session):
        def ranked(self, query, k):
            return [Hit(hit.path, hit.start, hit.end) for hit in super().ranked(query, k)]


class _Pointing(Clean):
    """Gives its first result another place; has no filters, which could not be kept then."""

    class Session(Clean.Session):
        filters = frozenset()

        def ranked(self, query, k):
            one, *rest = super().ranked(query, k)
            return [self.place(one), *rest]

        def place(self, hit):
            return hit


class Suffix(_Pointing):
    class Session(_Pointing.Session):
        def place(self, hit):
            return Hit(hit.path.rpartition("/")[2], hit.start, hit.end, hit.score)


class Outside(_Pointing):
    class Session(_Pointing.Session):
        def place(self, hit):
            return Hit("../secret.py", hit.start, hit.end, hit.score)


class Imaginary(_Pointing):
    class Session(_Pointing.Session):
        def place(self, hit):
            return Hit("shop/imaginary.py", hit.start, hit.end, hit.score)


class Absolute(_Pointing):
    class Session(_Pointing.Session):
        def place(self, hit):
            return Hit(str(self.corpus.root / hit.path), hit.start, hit.end, hit.score)


class Uncounted(_Pointing):
    class Session(_Pointing.Session):
        def place(self, hit):
            (self.corpus.root / "left.bin").write_bytes(b"\0")
            return Hit("left.bin", None, None, hit.score)


class Beyond(_Pointing):
    class Session(_Pointing.Session):
        def place(self, hit):
            return Hit(hit.path, hit.start, 100_000, hit.score)


class Leaking(Clean):
    class Session(Clean.Session):
        def search_filtered(self, query, k, wanted, seconds):
            own = super().search_filtered(query, k, wanted, seconds)
            return [*self.ranked(query, k)[:1], *own][:k] if own else own


class Reordering(Clean):
    class Session(Clean.Session):
        def search_filtered(self, query, k, wanted, seconds):
            return swapped(super().search_filtered(query, k, wanted, seconds))


class AllForNothing(Clean):
    class Session(Clean.Session):
        def search_filtered(self, query, k, wanted, seconds):
            return super().search_filtered(query, k, wanted, seconds) or self.ranked(query, k)[:k]


class Stale(Clean):
    class Session(Clean.Session):
        def update_within(self, corpus, seconds):
            pass


class KeepsTheDead(Clean):
    class Session(Clean.Session):
        def update_within(self, corpus, seconds):
            gone = [chunk for chunk in self.chunks if chunk[0] not in {file.path for file in corpus.files}]
            renamed = len(corpus.files) >= len(self.corpus.files)
            self.read(corpus)
            self.chunks += [] if renamed else gone


class Elsewhere(Clean):
    """Reads the files it was first given, like a server with a folder of its own."""

    config = {"kind": "http", "url": "http://127.0.0.1/search"}
    private = False
    first = None

    def open(self, corpus):
        self.first = self.first or super().open(corpus)
        return self.first

    class Session(Clean.Session):
        def update_within(self, corpus, seconds):
            pass


class Dice(Clean):
    """Orders its results anew each time."""

    class Session(Clean.Session):
        count = 0

        def ranked(self, query, k):
            self.count += 1
            hits = super().ranked(query, k)
            random.Random(self.count).shuffle(hits)
            return [Hit(hit.path, hit.start, hit.end, -float(at)) for at, hit in enumerate(hits)]


class Mute(Clean):
    """Answers every query with nothing."""

    class Session(Clean.Session):
        def ranked(self, query, k):
            return []


class Timeless(Clean):
    """Does not update."""

    class Session(Clean.Session):
        update_within = None  # type: ignore[assignment]  # what makes it one that does not


class Quoted(Clean):
    class Session(Clean.Session):
        def search(self, query, k):
            if '"' in query:
                raise EngineError("syntax error near quote")
            return super().search(query, k)


class Prudish(Clean):
    """Refuses what says nothing, as it may."""

    class Session(Clean.Session):
        def search(self, query, k):
            if not query.strip():
                raise EngineError("the query is empty")
            return super().search(query, k)


class Hanging(Clean):
    """Does not answer one query within the time that it is given."""

    class Session(Clean.Session):
        def hangs(self, query):
            return "🚀" in query

        def search_within(self, query, k, seconds):
            if self.hangs(query):
                raise EngineTimeoutError(f"no answer after {seconds} s")
            return self.search(query, k)


class Poisoned(Clean):
    class Session(Clean.Session):
        poison = False

        def search(self, query, k):
            self.poison = self.poison or query == "--"
            hits = super().search(query, k)
            return swapped(hits) if self.poison else hits


class Optional(Clean):
    class Session(Clean.Session):
        def search(self, query, k):
            if query == "--version":
                return [Hit("tool-1.2.3")]
            return super().search(query, k)


class Blind(Clean):
    """Never returns one file."""

    class Session(Clean.Session):
        def ranked(self, query, k):
            return [hit for hit in super().ranked(query, k) if hit.path != "shop/tax.py"]


class Failing(Clean):
    class Session(Clean.Session):
        def search(self, query, k):
            raise EngineError("no answer today")


def half_failing(query, k):
    """Fail on every query that is not a single word."""
    if " " in query:
        raise EngineError("one word please")
    return ["shop/cart.py"]
