"""The prompts that an endpoint is asked with: text files beside the code, named by a hash of their words."""

from __future__ import annotations

from importlib import resources

from assay.chat import Endpoint, Question, fence, prompt_version
from assay.gold.review.items import Origin


def prompt(name: str) -> str:
    """Read a prompt."""
    return resources.files("assay.data").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def fenced(name: str, lead: str, text: str) -> Question:
    """Put foreign text between marks that nobody could know in advance, so that nothing in it ends the quotation."""
    mark = fence(lead, text)
    return Question(prompt(name), f"{lead}\n<shown {mark}>\n{text}\n</shown {mark}>")


def origin(endpoint: Endpoint, name: str) -> Origin:
    """Say where an answer comes from: which model, served where, asked with which words."""
    return Origin("endpoint", f"{endpoint.name} prompt {name} {prompt_version(prompt(name))}")
