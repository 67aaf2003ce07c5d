"""Queries by an endpoint, module by module; every location is looked up, and nothing is believed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from assay.chat import Endpoint, ask
from assay.errors import GoldError
from assay.gold.mining.config import PROPOSING, TEXTS
from assay.gold.mining.ground import Ground
from assay.gold.mining.modules import Module, modules
from assay.gold.mining.privacy import private_part
from assay.gold.mining.prompts import fenced, origin
from assay.gold.mining.proposals import Intake, Intent, Passed, Refused, speaks
from assay.gold.place import Place
from assay.gold.synth.config import Draw
from assay.gold.targets import parse_target
from assay.types import Target

_PROMPT: Final = "propose"
_WRAPPED: Final = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)
_FORMS: Final = ("human", "keyword")


def propose(intake: Intake, endpoint: Endpoint, wanted: Draw) -> Iterator[Passed]:
    """Ask module by module, in an order that the seed decides, until there are enough; give those of each at once."""
    import numpy as np

    known = modules(intake.ground)
    left = wanted.count
    for index in np.random.default_rng(wanted.seed).permutation(len(known)):
        if left <= 0:
            return
        passed = ask_module(intake, known[int(index)], endpoint, min(left, PROPOSING.each))
        left -= len(passed.items)
        yield passed


def ask_module(intake: Intake, module: Module, endpoint: Endpoint, count: int) -> Passed:
    """Ask for the queries of one module, and let through what holds."""
    lead = f"Write at most {count} questions about the folder that is shown."
    answer = ask(endpoint, fenced(_PROMPT, lead, module.digest))
    entries = read_queries(answer)
    where = f"{endpoint.name}, folder {module.folder}"
    cut = f"folder {module.folder}: {module.cut} of its definitions did not fit, so the model did not see them"
    notes = (cut,) if module.cut else ()
    if isinstance(entries, str):
        return Passed(refused=(Refused(where, entries),), notes=notes)
    read = [_intent(intake.ground, entry, endpoint, where) for entry in entries[:count]]
    extra = (Refused(where, f"{len(entries) - count} more than were asked for"),) if len(entries) > count else ()
    passed = intake.queries([one for one in read if isinstance(one, Intent)])
    refused = tuple(one for one in read if isinstance(one, Refused))
    return replace(passed, refused=(*refused, *passed.refused, *extra), notes=notes)


def read_queries(answer: str) -> list[Mapping[str, object]] | str:
    """Find the list of queries in an answer, bare or in a code fence; a text says what is wrong."""
    wrapped = _WRAPPED.search(answer)
    try:
        value = json.loads(wrapped[1] if wrapped else answer)
    except (ValueError, RecursionError):
        return "the answer is no JSON"
    entries = value.get("queries") if isinstance(value, dict) else value
    if not isinstance(entries, list):
        return "the answer has no list of queries"
    return [entry if isinstance(entry, dict) else {} for entry in entries]


def _intent(ground: Ground, entry: Mapping[str, object], endpoint: Endpoint, where: str) -> Intent | Refused:
    """Read one query of an answer, or say what is wrong with it."""
    texts = {form: _line(entry.get(form)) for form in _FORMS}
    named = entry.get("targets")
    if not texts["human"] or not isinstance(named, list) or not named:
        return Refused(where, "a query lacks its text or its targets")
    if not speaks(texts["human"]):
        return Refused(where, "the text is too short or too long to be a question", texts["human"][: TEXTS.longest])
    targets = _targets(ground, named)
    if isinstance(targets, str):
        return Refused(where, targets, texts["human"])
    why = _line(entry.get("why"))
    notes = (f"the model says: {why}",) if why and private_part(why, known=ground.known) is None else ()
    more = {"keyword": texts["keyword"]} if texts["keyword"] else {}
    return Intent(texts["human"], targets, origin(endpoint, _PROMPT), notes=notes, forms=more)


def _targets(ground: Ground, named: list[object]) -> tuple[Target, ...] | str:
    """Look up every location that was named; one that does not hold spoils the query."""
    if len(named) > PROPOSING.targets:
        return f"{len(named)} targets are too many for one question"
    found: dict[str, Target] = {}
    for name in named:
        try:
            target = parse_target(str(name).strip(), Place("the answer"))
        except GoldError as error:
            return error.message
        spots = ground.spots_of(target)
        if ground.resolved(target) is None:
            return f"{target.anchor} is not in the corpus"
        if not spots or not all(ground.answers(spot) for spot in spots):
            return f"{target.anchor} is no code that may answer"
        found[target.anchor] = target
    return tuple(found.values())


def _line(value: object) -> str:
    """Make one line of a text, bounded; nothing of what is no text."""
    if not isinstance(value, str):
        return ""
    line = " ".join("".join(char if char.isprintable() else " " for char in value).split())
    return line[: TEXTS.longest]
