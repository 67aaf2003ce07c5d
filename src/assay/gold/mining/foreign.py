"""Is the code that is mined the code of the set? If not, new paths and symbols would mean nothing there."""

from __future__ import annotations

from pathlib import Path

from assay.corpus.spec import spec_text
from assay.corpus.urls import without_credentials
from assay.errors import GoldError
from assay.types import Corpus, CorpusSpec, Gold


def foreign(corpus: Corpus, gold: Gold) -> str | None:
    """Refuse code that lacks most of the set's targets; of another version or copy give a warning."""
    base = Path(gold.source).parent if gold.source else Path()
    if _identity(corpus.spec, Path()) == _identity(gold.corpus, base):
        return None
    named, own = (without_credentials(spec_text(spec)) for spec in (corpus.spec, gold.corpus))
    paths = {file.path for file in corpus.files}
    targets = {target.span.path for query in gold.queries for target in query.targets}
    missing = targets - paths
    if 2 * len(missing) > len(targets):
        told = f"it lacks {len(missing)} of the {len(targets)} files that the set's targets lie in"
        hint = f"name the set's own corpus, which is {own}, or another --set"
        raise GoldError(f"{named} is not the code of this set: {told}", file=gold.source, hint=hint)
    return f"{named} is not the corpus that the set names, {own}: what is proposed may not be there"


def _identity(spec: CorpusSpec, base: Path) -> tuple[str, ...]:
    """Name a corpus so that two names of one are the same; folders are followed to where they are."""
    if spec.kind == "path":
        return spec.kind, str((base / Path(spec.value).expanduser() / (spec.root or "")).resolve())
    folder = base / Path(spec.value).expanduser()
    value = str(folder.resolve()) if spec.kind == "git" and folder.is_dir() else spec.value
    return spec.kind, value, spec.root or "", spec.rev or ""
