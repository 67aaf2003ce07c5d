from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from assay.cli.console import emit_blocks, write_result
from assay.report.render.document import table
from assay.search.models import InstallableModel, install_model, installed_model, list_models, named_model, remove_model


def list_command(args: Namespace) -> int:
    rows = list(list_models())
    cells = [(model.name, "yes" if path else "no", model.about, model.license) for model, path in rows]
    emit_blocks(args, "Encoders", [table(("Name", "Installed", "Description", "License"), cells)], _data(*rows))
    return 0


def install_command(args: Namespace) -> int:
    directory = install_model(args.name, Path(args.source) if args.source else None)
    shown = (f"{args.name} is installed.", f'Search with it: assay search --set dense.encoder={args.name} "..."')
    emit_blocks(args, "", shown, _data((named_model(args.name), directory)))
    return 0


def remove_command(args: Namespace) -> int:
    remove_model(args.name)
    emit_blocks(args, "", [f"{args.name} was removed."], _data((named_model(args.name), None)))
    return 0


def path_command(args: Namespace) -> int:
    directory = installed_model(args.name)
    if args.json:
        emit_blocks(args, "", [], _data((named_model(args.name), directory)))
    else:
        write_result(str(directory))  # one line, at any width
    return 0


def _data(*rows: tuple[InstallableModel, Path | None]) -> dict[str, Any]:
    models = [
        {
            "name": model.name,
            "description": model.about,
            "license": model.license,
            "sha256": dict(model.sha256),
            "path": str(directory) if directory else None,
        }
        for model, directory in rows
    ]
    return {"schema": "assay/models/1", "models": models}
