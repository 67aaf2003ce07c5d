"""Print an engine's settings as TOML.

A preset is printed as it ships; save it, change it, and name the file: `--engine ./mine.toml`. Of a kind, every
setting is printed with its default, as a table for assay.toml. An engine of assay.toml is printed as it stands there.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.engines import KindPage, SettingPage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("name", metavar="NAME", help="an engine of assay.toml, a preset, a kind, or a file of yours")
    parser.add_argument("--config", metavar="FILE", help="an assay.toml (this folder's)")


def handle(args: argparse.Namespace) -> int:
    """Print the TOML; nothing else goes to stdout, so that it can be saved."""
    text, path = _declared(args.name, args.config) or _toml(args.name)
    if args.json:
        import json

        data = {"schema": "assay/engines-show/1", "name": args.name, "file": path, "toml": text}
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(text)
    return 0


def _declared(name: str, config: str | None) -> tuple[str, str] | None:
    from pathlib import Path

    from assay.cli.options import config_file
    from assay.experiment.spec import load_spec, locate
    from assay.files import read_utf8

    path = config_file(config)
    if path is None:
        return None
    spec = load_spec(path)
    if name not in spec.engines:
        return None
    path = Path(spec.places[f"engines.{name}"].file or path)  # it may stand in a file that this one extends
    text = read_utf8(path)
    first = locate(text, f"engines.{name}")
    lines = text.split("\n")[(first or 1) - 1 :]
    own = re.compile(rf"\[+engines\.[\"']?{re.escape(name)}[\"']?[.\]]")
    after = (n for n, line in enumerate(lines) if n and line.startswith("[") and not own.match(line))
    return "\n".join(lines[: next(after, len(lines))]).rstrip() + "\n", str(path)


def _toml(name: str) -> tuple[str, str | None]:
    from pathlib import Path

    from assay.engines import KINDS, describe_kinds
    from assay.engines.presets import load_preset, preset_names

    if name in KINDS:
        page = next(page for page in describe_kinds() if page.name == name)
        return "\n".join(_skeleton(page)) + "\n", None
    preset = load_preset(name, Path())
    # A copy lies elsewhere, and the small programs that some presets run stay where they are.
    text = preset.text.replace("{preset}", str(preset.path.parent)) if name in preset_names() else preset.text
    return text, str(preset.path)


def _skeleton(page: KindPage) -> Iterator[str]:
    yield f"# {page.about}"
    yield f"[engines.my-{page.name}]"
    yield f'kind = "{page.name}"'
    yield from (_line(setting) for setting in page.settings)


def _line(setting: SettingPage) -> str:
    if setting.default is None:
        return f"# {setting.name} = ...  # must be given, {setting.type}: {setting.about}"
    value = "..." if setting.default == "none" else setting.default
    return f"# {setting.name} = {value}  # {setting.about}"
