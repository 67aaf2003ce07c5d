"""A model as a reviewer: it sees what a person would see, and only a vote with a reason is taken from its answer.

What stands in the code may try to talk to the model. It is fenced by a mark that nobody can know in advance; the worst
it can do is to win one vote, and every label needs several reviewers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.chat import Endpoint, Question, ask, fence, prompt_version
from assay.gold.review.viewing import View, describe
from assay.gold.review.votes import question_for, values_for

_PROMPT_FILE: Final = Path(__file__).parent.parent.parent / "data" / "prompts" / "review.md"
_FENCED: Final = re.compile(r"\A```(?:json)?\s*\n(?P<inside>.*)\n\s*```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said of an item: a vote and its reason, or what is wrong with the answer."""

    value: str = ""
    reason: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How much of an answer is kept."""

    reason: int = 600  # letters: a reason is a sentence or two, not an essay


def prompt() -> str:
    """Read what the model is told."""
    return _PROMPT_FILE.read_text(encoding="utf-8")


def version() -> str:
    """Name the prompt by its words."""
    return prompt_version(prompt())


def ask_model(endpoint: Endpoint, view: View) -> Answer:
    """Have a model judge one item."""
    return read_answer(ask(endpoint, question(view)), values_for(view.item.kind))


def question(view: View) -> Question:
    """Put the task and the fenced item together."""
    text = "\n".join(describe(view))
    mark = fence(text)
    asked = f"{question_for(view.item.kind)}\n<item {mark}>\n{text}\n</item {mark}>"
    return Question(prompt(), asked)


def read_answer(text: str, values: tuple[str, ...], limits: AnswerLimits | None = None) -> Answer:
    """Read one JSON object with a vote and a reason, bare or in one code fence; anything else is no vote."""
    bare = text.strip()
    wrapped = _FENCED.match(bare)
    try:
        answer = json.loads(wrapped["inside"] if wrapped else bare)
    except (ValueError, RecursionError):
        return Answer(problem="the answer is no JSON object")
    match answer:
        case {"vote": str() | int() as vote, "reason": str(reason)} if reason.strip():
            said = "".join(letter if letter.isprintable() else " " for letter in reason.strip())
            if isinstance(vote, bool) or str(vote) not in values:
                return Answer(problem=f"the vote is none of {', '.join(values)}")
            return Answer(str(vote), said[: (limits or AnswerLimits()).reason])
    return Answer(problem="the answer lacks a vote or a reason")
