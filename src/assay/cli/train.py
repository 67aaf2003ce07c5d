from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.cli.output import emit, info
from assay.errors import ConfigError, SetupError, install_hint

if TYPE_CHECKING:
    from assay.report.render.document import Block
    from assay.training.adapt import AdaptConfig
    from assay.training.config import TrainConfig
    from assay.training.pipeline import TrainRequest

    C = TypeVar("C", AdaptConfig, TrainConfig)
    from assay.report.render.document import Tone
    from assay.training.adapt import AdaptConfig, Adapted


_NEEDED = ("scipy", "threadpoolctl")
_WORSE = 0.9  # share of its best figure below which a model has learned too long


def train_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", help="a folder that holds git repositories")
    parser.add_argument("--adapt", metavar="REPO", help="adapt a model to this repository, and test if it is better")
    parser.add_argument("--from", dest="start", metavar="MODEL", help="the model to adapt; by default the shipped one")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the model and the work on it go")
    parser.add_argument("--recipe", metavar="FILE", help="a TOML file of settings; without it, the defaults")
    parser.add_argument(
        "--exclude", metavar="FILE", help="repositories never to learn from: a URL or owner/name a line"
    )
    parser.add_argument(
        "--exclude-corpora", metavar="FOLDER", help="repositories whose code is never to be learned from"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of learning, in place of the recipe's; mining has its own"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes that mine; by default one a core")


def train_command(args: argparse.Namespace) -> int:
    """Train a static embedding model on local Git repositories.

    The folder is searched for repositories, also bare ones; only permissively licensed ones are learned from.
    DIR/model is the finished model, DIR/work holds what is done so far and may be removed afterwards. The same
    repositories, recipe and seed give the same model, byte for byte. docs/guides/training.md has what a recipe may
    say.

    With --adapt REPO a model that there is, by default the one that ships with Assay, is made fit for one repository
    from its comments, names and history, whatever its licence. Files that it did not learn from say whether it is
    better there; if that is not shown, the old model is kept.
    """
    _check_extra()
    from assay.report.render.document import Document
    from assay.training.adapt import AdaptConfig
    from assay.training.config import TrainConfig
    from assay.training.pipeline import MODEL_DIR, train

    if args.adapt is not None:
        return adapt(args, _config(args, AdaptConfig))
    order, config = _order(args), _config(args, TrainConfig)
    began = time.perf_counter()
    packed = train(order, config, lambda line: info(args, f"{time.perf_counter() - began:7.1f} s  {line}"))
    data = _data(order.out / MODEL_DIR) | {
        "identity": packed.identity,
        "seconds": round(time.perf_counter() - began, 1),
    }
    emit(args, Document(f"The model in {order.out / MODEL_DIR}", tuple(_blocks(data))), data)
    return 0


def _check_extra() -> None:
    import importlib

    for name in _NEEDED:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise SetupError(
                f"training needs the package {name}, which cannot be imported: {error}",
                hint=install_hint("train"),
            ) from error


def _order(args: argparse.Namespace) -> TrainRequest:
    from assay.cli.search import workers_of
    from assay.training.pipeline import TrainRequest
    from assay.training.sources import Exclusions, read_exclusions

    if args.folder is None:
        raise ConfigError("nothing to train on", hint="name a folder that holds git repositories, or --adapt REPO")
    if args.start is not None:
        raise ConfigError("--from without --adapt", hint="a model is adapted to one repository: add --adapt REPO")
    folder = Path(args.folder)
    if not folder.is_dir():
        raise ConfigError("no such folder", file=folder, hint="name a folder that holds git repositories")
    exclusions = read_exclusions(Path(args.exclude)) if args.exclude else Exclusions(())
    corpora = Path(args.exclude_corpora) if args.exclude_corpora else None
    return TrainRequest(folder, Path(args.out), exclusions, corpora, workers_of(args))


def _config(args: argparse.Namespace, kind: type[C]) -> C:
    from assay.training.pipeline import read_recipe

    config = read_recipe(Path(args.recipe), kind) if args.recipe else kind()
    if args.seed is None:
        return config
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}", hint="it is 0 or more")
    return replace(config, seed=args.seed)


def _data(folder: Path) -> dict[str, Any]:
    import json

    from assay.training.pipeline import MANIFEST, MODEL

    about, manifest = (json.loads((folder / name).read_text(encoding="utf-8")) for name in (MODEL, MANIFEST))
    kept = ("terms", "repositories", "pairs", "translations", "reports")
    size = sum(file.stat().st_size for file in folder.iterdir())
    facts = {"schema": "assay/train/1", "folder": str(folder), "bytes": size, "windows": manifest["windows"]}
    return facts | {name: about[name] for name in kept}


def _blocks(data: dict[str, Any]) -> list[Block]:
    from assay.report.render.document import Paragraph
    from assay.training.pipeline import format_unchecked

    pairs = ", ".join(f"{kind} {count:,}" for kind, count in data["pairs"].items())
    table = data["translations"]
    blocks: list[Block] = [
        Paragraph(f"{data['terms']:,} terms from {data['repositories']} repositories. Pairs: {pairs}."),
        Paragraph(f"{table['entries']:,} translations of {table['terms']:,} terms."),
    ]
    if data["reports"]:
        blocks.append(Paragraph(_graded(data["reports"][-1]["grade"])))
    if spent := _overdone(data["reports"]):
        blocks.append(Paragraph(spent, "warning"))
    if unchecked := data["windows"]["not_checked"]:
        blocks.append(Paragraph(f"{format_unchecked(unchecked)}.", "warning"))
    model = f"static:{data['folder']}"
    return [
        *blocks,
        Paragraph(f"{data['bytes'] / 1e6:.1f} MB, made in {data['seconds']:.0f} s: {data['identity']}"),
        Paragraph(f"Use it with: assay search ... --set dense.model={model} --set translation.model={model}"),
    ]


def _overdone(reports: Sequence[dict[str, Any]]) -> str:
    best = max(reports, key=lambda one: one["grade"]["reciprocal"], default=None)
    if best is None or reports[-1]["grade"]["reciprocal"] >= _WORSE * best["grade"]["reciprocal"]:
        return ""
    return (
        f"At step {best['step']} the held-out MRR was {best['grade']['reciprocal']:.3f}: there is too little to learn "
        "from for so many steps. Lower vectors.steps, or adapt the shipped model instead: assay train --adapt REPO."
    )


def _graded(grade: dict[str, Any]) -> str:
    if not grade["questions"]:
        return "Nothing could be held out, so nothing says how good it is."
    return (
        f"Of {grade['questions']:,} held-out questions {grade['first']:.1%} find their code at once (MRR "
        f"{grade['reciprocal']:.3f}); where it shares no word with them, {grade['bare_first']:.1%} "
        f"({grade['bare_reciprocal']:.3f})."
    )


_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


def adapt(args: argparse.Namespace, config: AdaptConfig) -> int:
    """Adapt, and report; that the old model is kept is no failure."""
    from assay.report.render.document import Document
    from assay.training.adapt import AdaptRequest, adapt

    _check(args)
    order = AdaptRequest(Path(args.adapt), Path(args.out), Path(args.start) if args.start else None)
    began = time.perf_counter()
    adapted = adapt(order, config, lambda line: info(args, f"{time.perf_counter() - began:7.1f} s  {line}"))
    seconds = round(time.perf_counter() - began, 1)
    folder = None if adapted.directory is None else str(adapted.directory)
    earlier = None if adapted.earlier is None else str(adapted.earlier)
    data = {"schema": "assay/adapt/1", "folder": folder, "earlier": earlier, "seconds": seconds, **adapted.about()}
    emit(args, Document(f"Adapted to {adapted.repository.name}", tuple(_blocks_adapting(adapted, seconds))), data)
    return 0


def _check(args: argparse.Namespace) -> None:
    if args.folder is not None:
        raise ConfigError(f"both {args.folder} and --adapt", hint="train on a folder, or adapt to one repository")
    for flag in ("exclude", "exclude_corpora", "workers"):
        if getattr(args, flag) is not None:
            name = f"--{flag.replace('_', '-')}"
            raise ConfigError(f"{name} with --adapt", hint="it is for a folder of repositories; leave it out")


def _blocks_adapting(adapted: Adapted, seconds: float) -> list[Block]:
    from assay.report.render.document import Paragraph

    learned = sum(adapted.pairs.values())
    return [
        Paragraph(
            f"Learned from {learned:,} pairs of {adapted.repository.name} at {adapted.repository.commit[:12]}, with "
            f"{adapted.terms:,} words that are new; {seconds:.0f} s."
        ),
        Paragraph(_figures(adapted.about()["test"])),
        Paragraph(f"The adapted model is {adapted.verdict} here.", _TONES.get(adapted.verdict, "warning")),
        Paragraph(_outcome(adapted)),
    ]


def _figures(test: dict[str, Any]) -> str:
    low, high = test["interval"]
    chance = "no p-value" if test["p"] is None else f"p = {test['p']:.2g}"
    return (
        f"Test on {test['questions']:,} comments of {test['files']} files that were not learned from: "
        f"{test['measure']} {test['old']:.3f} before, {test['new']:.3f} after, difference {test['difference']:+.3f} "
        f"({test['level']:.0%} interval {low:+.3f} to {high:+.3f}, {chance}; {test['wins']} better, "
        f"{test['losses']} worse, {test['ties']} the same)."
    )


def _outcome(adapted: Adapted) -> str:
    if adapted.directory is not None:
        model = f"static:{adapted.directory}"
        return f"Use it with: assay search ... --set dense.model={model} --set translation.model={model}"
    row = adapted.row
    least = f"Differences below {row.mde_text} could hardly show on so many files; " if row.mde else ""
    kept = "the old model is kept, and nothing was written in its place."
    if adapted.earlier is not None:
        kept += f" What lies in {adapted.earlier} is of an earlier run, and was not made by this one."
    return f"{least}{kept}" if least else f"T{kept[1:]}"
