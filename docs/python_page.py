"""The page about the Python API: the public names, their signatures and what their docstrings say."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass

import assay
from assay import errors
from assay.errors import AssayError
from docs.engines_page import MADE


def python() -> str:
    """Describe every public name of the package."""
    functions = [name for name in assay.__all__ if inspect.isfunction(getattr(assay, name))]
    classes = [name for name in assay.__all__ if inspect.isclass(getattr(assay, name))]
    parts = ["# Python API", MADE, _INTRODUCTION, "## Functions", *map(_function, functions)]
    parts += ["## Classes", *map(_class, classes), "## Measures", _MEASURES, "## Errors", _errors()]
    return "\n\n".join(parts) + "\n"


def exit_codes() -> str:
    """Describe every exit code."""
    rows = [f"| {code} | {meaning} |" for code, meaning in _CODES]
    table = ["| code | when |", "|---|---|", *rows]
    return "\n\n".join(["# Exit codes", MADE, "\n".join(table), _CODES_TEXT, _errors()]) + "\n"


def _function(name: str) -> str:
    """Show a function with its docstring."""
    made = getattr(assay, name)
    return f"### assay.{name}\n\n```text\n{_signature(f'assay.{name}', made)}\n```\n\n{_doc(made)}"


def _signature(name: str, made: object) -> str:
    """Write a call as the source has it, one argument a line where it is long."""
    signature = inspect.signature(made)  # type: ignore[arg-type]
    returned = "" if signature.return_annotation is inspect.Signature.empty else f" -> {signature.return_annotation}"
    arguments = _parameters(signature)
    whole = f"{name}({', '.join(arguments)}){returned}"
    if len(whole) <= _WIDTH:
        return whole
    listed = ",\n    ".join(arguments)
    return f"{name}(\n    {listed},\n){returned}"


def _parameters(signature: inspect.Signature) -> list[str]:
    """List parameters as the source has them; the star that ends the positional ones is one of them."""
    listed: list[str] = []
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in listed:
            listed.append("*")
        written = getattr(one.annotation, "__forward_arg__", one.annotation)  # as named tuples keep it
        typed = "" if one.annotation is one.empty else f": {written}"
        listed.append(f"{one.name}{typed}" + ("" if one.default is one.empty else f" = {_default(one.default)}"))
    return listed


def _default(value: object) -> str:
    """Write a default; one that is no literal is made anew by each call."""
    text = repr(value)
    return "..." if text.startswith("<") or "object at" in text else text


def _class(name: str) -> str:
    """Show a class: its docstring, its fields or how it is made, its methods."""
    made = getattr(assay, name)
    parts = [f"### assay.{name}", _doc(made)]
    if is_dataclass(made) or hasattr(made, "_fields"):
        parts.append(f"```text\n{_signature(f'assay.{name}', made)}\n```")
    for method, value in vars(made).items():
        if method.startswith("_") or method in getattr(made, "_fields", ()) or not _doc(value):
            continue
        called, title = getattr(made, method), f"{name}.{method}"
        shown = _signature(title, called) if callable(called) and not isinstance(value, property) else title
        parts.append(f"```text\n{shown}\n```\n\n{_doc(value)}")
    return "\n\n".join(parts)


def _doc(made: object) -> str:
    """Give a docstring, whole."""
    return inspect.getdoc(made) or ""


def _errors() -> str:
    """List the errors with their codes."""
    kinds = sorted(
        (one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, AssayError)),
        key=lambda one: (one.exit_code, one.__name__),
    )
    rows = [f"| `{one.__name__}` | {one.exit_code} | {_doc(one).partition(chr(10))[0]} |" for one in kinds]
    return "\n".join(["| error | exit code | meaning |", "|---|---|---|", *rows])


_WIDTH = 100

_INTRODUCTION = """\
The names on this page are public; all others may change without notice. They are imported on first use, so `import
assay` is fast.

```python
import assay
from assay.measures import RR, nDCG


def search(query, k):
    return ["a.py"]


engines = {"mine": search}
measures = [nDCG @ 10, RR @ 10]
```

A retriever is measured in three lines; its function may take only the query. `means()` returns engine → measure →
mean, `to_dict()` and `to_frame()` return one row per query.

```python
import assay

gold = assay.load_gold("stdlib")
run = assay.run({"mine": lambda query: ["re/__init__.py", "json/decoder.py"]}, gold, k=10)
print(assay.score(run, ["R@5", "P@5", "RR@10", "nDCG@10"]).means()["mine"])
```"""

_MEASURES = """\
`assay.measures` has every measure as a value: `nDCG @ 10`, `Hit(grade=2) @ 5`, `RecallAtTokens(2000)`. `str()` of a
measure is the name used in tables and on the command line. [Measures](measures.md) lists them."""

_CODES = (
    (0, "success; for `gate`: no significant regression, all thresholds met"),
    (1, "`gate`: a significant regression; `gate` and `run`: below a threshold of `--require`"),
    (2, "invalid arguments, gold set, setting or corpus; the message has the location and a hint"),
    (3, "`gate --strict`: inconclusive"),
    (4, "the environment or an engine failed (it does not open, or every query fails); nothing was measured"),
    (5, "results that are not comparable"),
    (130, "interrupted; no incomplete results were written"),
)

_CODES_TEXT = """\
Scripts should treat 1 as *worse* and codes from 2 up as *not measured*; `--json` has the outcome as text. In Python the
same failures are exceptions:"""
