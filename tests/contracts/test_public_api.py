"""Public names: the Python API, flags, settings, file formats and environment variables."""

import argparse
import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

import assay
from assay import errors, measures
from assay.cli.main import build_parser
from tests.agent.calling import serve
from tests.contracts.calling import Workspace
from tests.contracts.layout import laid_out
from tests.contracts.snapshot import check

ROOT = Path(__file__).parents[2]


# The Python API.


def test_python_names():
    lines = []
    for name in sorted(assay.__all__):
        made = getattr(assay, name)
        if inspect.isclass(made):
            lines += [f"class {name}{bases(made)}", *(f"    {line}" for line in members(made))]
        elif inspect.isfunction(made):
            lines.append(f"{name}{signature(made)}")
        else:
            lines.append(f"{name}: {type(made).__name__}")
    check("public_api/python.txt", "\n".join(lines))


def test_import_of_every_public_name_is_lazy_and_complete():
    assert {*assay.__all__} <= {*dir(assay)}
    with pytest.raises(AttributeError, match="module 'assay' has no attribute 'nothing'"):
        _ = assay.nothing


def test_measure_names():
    lines = []
    for name in sorted(measures.__all__):
        made = getattr(measures, name)
        if inspect.isfunction(made):
            lines.append(f"{name}{signature(made)}")
        elif inspect.isclass(made):
            lines += [f"class {name}{bases(made)}", *(f"    {line}" for line in members(made))]
        else:
            lines.append(f"{name}: {made!r}")
    check("public_api/measures.txt", "\n".join(lines))


SPELLINGS = [
    "nDCG@10", "nDCG(level=lines)@10", "nDCG(level=symbol, grade=2)@5", "nDCG(rule=semble)@10",
    "nDCG(rule=octocode)@10", "RR@10", "Hit@5", "Hit(grade=2)@5", "R@10", "P@5", "AP@10", "Judged@10", "LineR@10",
    "LineR(grade=2)@10", "LineP@10", "SpanR@10", "SpanR(iou=0.5)@10", "RecallAtTokens(2000)",
    "RecallAtTokens(tokens=2000)", "TokensToHit", "TokensToHit(cap=4000)", "Displacement@10", "RankGap@10",
    "Any(Hit@5)", "All(Hit@5)", "Worst(nDCG@10)", "Spread(nDCG@10)", "Drop(nDCG@10,human→keyword)",
    "Drop(nDCG@10,human->keyword)", "MRR@10", "Recall@10", "MAP@10", "nDCG", "nDCG@0", "nDCG@ten",
    "nDCG(depth=3)@10",
]  # fmt: skip


def test_spelling_of_measures():
    lines = []
    for text in SPELLINGS:
        try:
            lines.append(f"{text}  is  {measures.parse_measure(text)}")
        except errors.AssayError as error:
            lines.append(f"{text}  is refused: {error.message} → {error.hint}")
    check("public_api/spellings.txt", "\n".join(lines))


def test_errors_and_their_exit_codes():
    found = [made for made in vars(errors).values() if inspect.isclass(made) and issubclass(made, errors.AssayError)]
    lines = [f"{made.__name__}{bases(made)} exit code {made.exit_code}" for made in found]
    error = errors.GoldError("no such query", file="gold.yaml", line=3, hint="add it")
    lines = [*sorted(lines), f"AssayError{signature(errors.AssayError)}", f"{vars(error)}", f"{error!s}"]
    check("public_api/errors.txt", "\n".join(lines))


def bases(made: type) -> str:
    named = [base.__name__ for base in made.__bases__ if base not in (object, tuple)]
    return f"({', '.join(named)})" if named else ""


def members(made: type) -> Iterator[str]:
    """Yield the fields, methods and properties of a class and its public bases."""
    if is_dataclass(made):
        for field in fields(made):
            default = field.default if field.default_factory is MISSING else field.default_factory()
            yield f"{field.name}: {annotation(field.type)}" + ("" if default is MISSING else f" = {spelled(default)}")
    elif issubclass(made, tuple):
        named: Any = made
        for name in named._fields:
            default = named._field_defaults.get(name, MISSING)
            typed = annotation(named.__annotations__[name])
            yield f"{name}: {typed}" + ("" if default is MISSING else f" = {spelled(default)}")
    for name in sorted(dir(made)):
        if name.startswith("_") and name not in ("__matmul__", "__call__", "__enter__", "__len__", "__iter__"):
            continue
        found = inspect.getattr_static(made, name)
        if isinstance(found, property):
            yield f"{name}: {returned(found.fget)} (property)"
        elif isinstance(found, classmethod | staticmethod):
            yield f"{name}{signature(found.__func__)} ({type(found).__name__})"
        elif inspect.isfunction(found):
            yield f"{name}{signature(found)}"


def signature(made: Any) -> str:
    """Format a signature with its annotations as written in the source, identical across Python versions."""
    found = inspect.signature(made)
    words: list[str] = []
    for one in found.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        star = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        typed = "" if one.annotation is one.empty else f": {annotation(one.annotation)}"
        words.append(f"{star}{one.name}{typed}" + ("" if one.default is one.empty else f" = {spelled(one.default)}"))
    back = "" if found.return_annotation is found.empty else f" -> {annotation(found.return_annotation)}"
    return f"({', '.join(words)}){back}"


def returned(getter: Any) -> str:
    return annotation(inspect.signature(getter).return_annotation)


def annotation(made: Any) -> str:
    """Format an annotation as written in the source: a string, or the forward reference of a named tuple field."""
    return str(getattr(made, "__forward_arg__", made))


def spelled(value: object) -> str:
    """Format a default without memory addresses, which differ between processes."""
    if is_dataclass(value):
        return f"{type(value).__name__}()"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


# The command line.


def test_commands_and_flags():
    lines: list[str] = []
    for name, parser in commands(build_parser(), "assay"):
        lines += [name, *(f"  {line}" for line in options(parser)), ""]
    check("public_api/commands.txt", "\n".join(lines))


def commands(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, sub in action.choices.items():
                yield from commands(sub, f"{name} {word}")


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    exclusive = {
        action: number
        for number, group in enumerate(parser._mutually_exclusive_groups, 1)
        for action in group._group_actions
    }
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if isinstance(action, argparse._SubParsersAction):
            yield f"{action.metavar or action.dest}: a command" + (" (required)" if action.required else "")
            continue
        words = [", ".join(action.option_strings) or f"<{action.metavar or action.dest}>"]
        words += [str(action.metavar)] if action.option_strings and action.metavar else []
        words.append(
            re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(action).__name__.strip("_").removesuffix("Action")).lower()
        )
        switch = action.nargs == 0
        facts: dict[str, object] = {
            "type": getattr(action.type, "__name__", None),
            "nargs": None if switch else action.nargs,
            "default": None if switch and action.default in (False, argparse.SUPPRESS) else action.default,
            "choices": [*action.choices] if action.choices else None,
            "required": (action.required and bool(action.option_strings)) or None,
            "exclusive": exclusive.get(action),
            "hidden": action.help == argparse.SUPPRESS or None,
        }
        words += [f"{key}={value!r}" for key, value in facts.items() if value is not None]
        yield " ".join(words)


# Settings and file formats.


@pytest.mark.parametrize("name", ["assay", "gold", "records", "search"])
def test_json_schemas(name):
    text = resources.files("assay.data").joinpath(f"schemas/{name}.schema.json").read_text("utf-8")
    check(f"public_api/{name}-schema.txt", "\n".join(keys(json.loads(text), "")))


def test_every_shipped_schema_is_recorded():
    names = {path.name for path in resources.files("assay.data").joinpath("schemas").iterdir()}
    assert names == {f"{name}.schema.json" for name in ("assay", "gold", "records", "search")}


def keys(node: Any, path: str) -> Iterator[str]:
    """Yield one line per key of a JSON Schema: its path, allowed values and default."""
    if not isinstance(node, Mapping):
        yield f"{path or 'document'}: {json.dumps(node)}"
        return
    inner = {"properties", "$defs", "items", "additionalProperties", "patternProperties", "anyOf", "oneOf", "allOf"}
    prose = {"description", "title", "$schema", "$id", "examples", "markdownDescription"}
    facts = {key: value for key, value in node.items() if key not in inner | prose}
    yield f"{path or 'document'}: {json.dumps(facts, ensure_ascii=False)}"
    for key in ("properties", "$defs", "patternProperties"):
        for name, value in node.get(key, {}).items():
            yield from keys(
                value, f"{path}.{name}".strip(".") if key == "properties" else f"{path} {key}/{name}".strip()
            )
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from keys(node[key], path + ("[]" if key == "items" else ".*"))
    for key in ("anyOf", "oneOf", "allOf"):
        for number, value in enumerate(node.get(key, []), 1):
            yield from keys(value, f"{path}|{key}{number}")


KINDS = ["builtin", "command", "http", "keywords", "mcp", "oracle", "python", "random", "runfile"]


def test_settings_of_engines(tmp_path):
    """Keys and defaults as `assay engines show` prints them, without their descriptions."""
    workspace = Workspace(tmp_path, tmp_path)
    listed = json.loads(workspace.call("engines", "--json").out)
    assert [kind["name"] for kind in listed["kinds"]] == KINDS
    lines = []
    for kind in KINDS:
        outcome = workspace.call("engines", "show", kind)
        assert outcome.code == 0
        shown = [line.removeprefix("# ").partition("  # ")[0] for line in outcome.out.splitlines()]
        lines += [*(line for line in shown[1:] if line), ""]
    check("public_api/engine-settings.txt", "\n".join(lines))


PROSE = {"about", "home", "install", "note", "verified"}


def test_settings_of_presets(tmp_path):
    """Every shipped preset as `assay engines show` prints it, without its descriptions."""
    workspace = Workspace(tmp_path, tmp_path)
    listed = json.loads(workspace.call("engines", "--json").out)
    found = {}
    for name in sorted(preset["name"] for preset in listed["presets"]):
        text = workspace.call("engines", "show", name).out
        shown = tomllib.loads(text.replace(str(Path(assay.__file__).parent), "<package>"))
        shown["preset"] = {key: value for key, value in shown["preset"].items() if key not in PROSE}
        found[name] = shown
    check("public_api/presets.json", laid_out(found))


def test_every_shipped_preset_is_listed(tmp_path):
    listed = json.loads(Workspace(tmp_path, tmp_path).call("engines", "--json").out)
    files = resources.files("assay.data").joinpath("presets").iterdir()
    shipped = {path.name.removesuffix(".toml") for path in files if path.name.endswith(".toml")}
    assert {preset["name"] for preset in listed["presets"]} == shipped


def test_tools_for_agents(workspace):
    """Names, descriptions and arguments of the MCP tools, and the instructions of the server."""

    async def talk() -> tuple[str | None, list[Any]]:
        async with Client(serve(workspace.root)) as client:
            return client.instructions, (await client.list_tools()).tools

    instructions, tools = anyio.run(talk)
    lines = [(instructions or "").replace(str(workspace.root), "<root>")]
    for tool in tools:
        lines += ["", f"== {tool.name}", tool.description]
        required = tool.input_schema.get("required", [])
        for name, about in tool.input_schema["properties"].items():
            default = "required" if name in required else f"default {json.dumps(about.get('default'))}"
            lines.append(f"-- {name} ({default}): {about['description']}")
    check("public_api/mcp-tools.txt", "\n".join(lines))


def test_packaging():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    facts = {
        "name": project["name"],
        "requires-python": project["requires-python"],
        "scripts": project["scripts"],
        "extras": sorted(project["optional-dependencies"]),
    }
    check("public_api/packaging.json", facts)


# Environment variables, each tested by its effect.


def document(workspace: Workspace, *argv: str, env: Mapping[str, str]) -> dict[str, Any]:
    outcome = workspace.call(*argv, "--json", "--quiet", env=env)
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def test_cache_folder(workspace, tmp_path):
    named = {"ASSAY_CACHE_DIR": str(tmp_path / "a"), "XDG_CACHE_HOME": str(tmp_path / "b")}
    assert document(workspace, "cache", env=named)["directory"] == str(tmp_path / "a")
    found = document(workspace, "cache", env={**named, "ASSAY_CACHE_DIR": ""})["directory"]
    assert found == str(tmp_path / "b" / "assay")


def test_cache_limit(workspace):
    assert document(workspace, "cache", env={"ASSAY_CACHE_LIMIT": "5MB"})["limit"] == 5_000_000


def test_index_folder(workspace, tmp_path):
    found = document(workspace, "index", "library", env={"ASSAY_INDEX_DIR": str(tmp_path / "index")})
    assert Path(found["index"]).parent == tmp_path / "index"


def test_search_settings(workspace):
    found = document(workspace, "search", "--show-config", env={"ASSAY_SEARCH__STEM__FILES": "0.123"})
    assert found["search"]["stem"]["files"] == 0.123
    outcome = workspace.call("search", "--show-config", env={"ASSAY_SEARCH__STEM__FILE": "0.123"})
    assert outcome.code == 2
    check("public_api/unknown-variable.txt", outcome.err)


def test_date_of_today(scratch):
    added = ["ledger", "add", "results", "--engine", "builtin"]
    assert document(scratch, *added, env={"SOURCE_DATE_EPOCH": "86400"})["date"] == "1970-01-02"


def test_debugging_shows_the_traceback(workspace, monkeypatch):
    def broken(*_: object) -> str:
        raise RuntimeError("broken installation")

    monkeypatch.setattr("sysconfig.get_path", broken)
    shown = workspace.call("run", "--gold", "stdlib", "--quiet", env={"ASSAY_DEBUG": "1"}).err
    assert shown.startswith("Traceback (most recent call last)")
    assert shown.splitlines()[-1] == "hint: report this bug with the traceback that --verbose prints"


def test_variables_that_the_source_names():
    """Record the names; the effect of each variable is tested above or where it is used."""
    found = set[str]()
    for path in Path(assay.__file__).parent.rglob("*.py"):
        found |= set(re.findall(r"\bASSAY_[A-Z]+(?:_[A-Z]+)*(?:__)?", path.read_text(encoding="utf-8")))
    check("public_api/variables.txt", "\n".join(sorted(found)))
