"""Phrasings by an endpoint: one question for each form that a query lacks; answers are checked, bad ones are told."""

from __future__ import annotations

from collections.abc import Iterator

from assay.chat import Endpoint, ask
from assay.gold.mining.config import PHRASES
from assay.gold.mining.ground import Ground
from assay.gold.mining.phrasings.rules import MADE, Phrase, phrasing_item
from assay.gold.mining.privacy import private_part
from assay.gold.mining.prompts import fenced, origin
from assay.gold.mining.proposals import Intake, Passed, Refused, folded
from assay.gold.wrong_terms import replacements
from assay.types import Gold, Query


def ask_phrasings(intake: Intake, gold: Gold, endpoint: Endpoint) -> Iterator[Passed]:
    """Ask for the phrasings that queries lack, and give them query by query, so that none is lost to a failure."""
    for query in gold.queries:
        for form in MADE:
            if form not in query.forms and not (form == "wrong_terminology" and "human" not in query.forms):
                yield _asked(intake, query, form, endpoint)


def _asked(intake: Intake, query: Query, form: str, endpoint: Endpoint) -> Passed:
    """Ask for one form."""
    name = f"phrase-{form}"
    answer = ask(endpoint, fenced(name, f"Write the form called {form}.", shown(intake.ground, query))).strip()
    problem = answer_problem(query, form, answer, intake.ground.known)
    if problem is not None:
        return Passed(refused=(Refused(f"{endpoint.name}, {form} of {query.id}", problem),))
    return Passed((phrasing_item(intake, query, Phrase(form, answer), origin(endpoint, name)),))


def shown(ground: Ground, query: Query) -> str:
    """Write out a query and the code that answers it, cut to a bound."""
    forms = [f"{form}: {query.forms[form]}" for form in query.ordered_forms]
    code = [f"{spot.path}\n{ground.text(spot)}" for target in query.targets[:1] for spot in ground.spots_of(target)[:1]]
    return "\n".join([*forms, "", *code])[: PHRASES.shown]


def answer_problem(query: Query, form: str, answer: str, known: frozenset[str] = frozenset()) -> str | None:
    """Say why an answer is no phrasing: several lines, too long, said before, private, or not exactly one error."""
    if not answer:
        return "the answer is empty"
    if "\n" in answer or not answer.isprintable():
        return "the answer is more than one line"
    if len(answer) > PHRASES.answer:
        return f"the answer has more than {PHRASES.answer} characters"
    if folded(answer) in {folded(text) for text in query.forms.values()}:
        return "the answer says what another form says"
    private = private_part(answer, known=known)
    if private is not None:
        return f"the answer holds {private}"
    if form == "wrong_terminology" and replacements(query.forms.get("human", ""), answer) != 1:
        return "the answer does not differ from the human form in exactly one term"
    return None
