"""Words of a query that are called something else in code, as a learned table has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.search.models import TranslationSettings
from assay.search.question import QueryKind, Question

if TYPE_CHECKING:
    from assay.search.static import Thesaurus
    from assay.search.static.thesaurus import Translation
    from assay.search.view import View


@dataclass(frozen=True, slots=True)
class Translator:
    """A table of translations, and how much it is trusted."""

    settings: TranslationSettings
    thesaurus: Thesaurus

    def __call__(self, term: str, kind: QueryKind) -> tuple[Translation, ...]:
        """List what a term may be called, each with the share of the term itself that it is worth."""
        weight = self.settings.weight(kind)
        if not weight:
            return ()
        found = self.thesaurus.of(term, self.settings.most)
        return tuple(one._replace(strength=weight * one.strength) for one in found)


def called_in_code(view: View, question: Question) -> dict[str, list[str]]:
    """List what each word of a query is also looked up as, of what the corpus holds; the surest first."""
    if view.translator is None:
        return {}
    from assay.search.static import read_words

    words = read_words(view.translator.settings.folder)
    found = {
        term: [words.get(one.term, "?") for one in view.translator(term, question.kind) if view.number(one.term) >= 0]
        for term in question.terms
    }
    return {term: names for term, names in found.items() if names}


def make_translator(settings: TranslationSettings) -> Translator | None:
    """Open the table that settings name; None when they name none."""
    if not settings.model:
        return None
    from assay.search.static import Thesaurus, open_static

    return Translator(settings, Thesaurus(open_static(settings.folder)))
