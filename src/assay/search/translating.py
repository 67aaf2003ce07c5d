"""Words of a query that are called something else in code, as a learned table has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.search.models import TranslationSettings
from assay.search.question import QueryKind

if TYPE_CHECKING:
    from assay.search.static import Thesaurus
    from assay.search.static.thesaurus import Translation


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


def make_translator(settings: TranslationSettings) -> Translator | None:
    """Open the table that settings name; None when they name none."""
    if not settings.model:
        return None
    from assay.search.static import Thesaurus, open_static

    return Translator(settings, Thesaurus(open_static(settings.folder)))
