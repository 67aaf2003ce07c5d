"""The numbers of linting, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LintConfig:
    """When something is worth telling. Every number leans towards silence: a false alarm costs more than a miss."""

    copied_lines: int = 6  # lines of code; shorter stretches are alike by idiom, not by copying
    copied_characters: int = 120  # of those lines; six lines of brackets and `else` are no copy
    copied_file_lines: int = 20  # of a whole file; small files of one kind look alike
    near: float = 0.9  # of the lines in order; below, two definitions of a name are two versions, not a copy
    near_length: float = 0.8  # shorter over longer, in lines; a cheap look before the comparison
    shim_lines: int = 400  # of a file; a longer one has code of its own, and need not be parsed to know
    owners: int = 3  # files that define a name; more, and it is a common word
    topic_queries: int = 3  # that name an identifier; then it is what the program is about, like a product's name
    few_queries: int = 5  # of a category; below, its mean says nothing of its own
    leak_half: float = 0.5  # of the words, from which on a query counts as one that names its answer
    module_files: int = 3  # code files; smaller folders are no part of a program that a set must ask about
    module_share: float = 0.05  # of the code files of the corpus
    listed: int = 5  # names in one message: it is one line
    margin: float = 0.02  # DESIGN.md: the smallest difference that anybody would act on
    cutoff: int = 10  # of the measures whose ceiling is told


DEFAULT = LintConfig()
