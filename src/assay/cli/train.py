from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.cli.arguments import reject_flags
from assay.cli.console import emit_blocks, info
from assay.errors import ConfigError, SetupError, install_hint

if TYPE_CHECKING:
    from assay.report.render.document import Block, Tone
    from assay.training.adapt import AdaptConfig, Adapted
    from assay.training.config import TrainConfig
    from assay.training.encoder import EncoderTrainConfig
    from assay.training.pipeline import TrainRequest

    C = TypeVar("C", AdaptConfig, EncoderTrainConfig, TrainConfig)

_WORSE = 0.9  # share of its best held-out MRR below which a model was trained too long


def train_command(args: Namespace) -> None:
    try:
        import scipy  # noqa: F401
        import threadpoolctl  # noqa: F401
    except ImportError as error:
        raise SetupError(f"cannot import a package for training: {error}", hint=install_hint("train")) from error
    from assay.training.adapt import AdaptConfig
    from assay.training.config import TrainConfig
    from assay.training.pipeline import MODEL_DIR, train

    if args.adapt is not None:
        _adapt(args, _load_config(args, AdaptConfig))
        return
    request, began = _train_request(args), time.perf_counter()
    if args.encoder is not None:
        from assay.training.encoder import DELTA, EncoderTrainConfig, train_encoder

        settings = _load_config(args, EncoderTrainConfig)
        about = train_encoder(request, Path(args.encoder), settings, _progress(args, began))
        last, data = about["reports"][-1], {"schema": "assay/train-encoder/1", **about}
        scores = f"MRR {last['mrr']:.3f}; without shared words {last['bare_mrr']:.3f}"
        text = f"{last['queries']} held-out queries: {scores}."
        emit_blocks(args, f"The delta in {request.out / DELTA}", [text], data)
        return
    config = _load_config(args, TrainConfig)
    packed = train(request, config, _progress(args, began))
    directory = request.out / MODEL_DIR
    data = {
        **_describe_model(directory),
        "identity": packed.identity,
        "seconds": round(time.perf_counter() - began, 1),
    }
    emit_blocks(args, f"The model in {directory}", _train_blocks(data), data)


def _progress(args: Namespace, began: float) -> Callable[[str], None]:
    return lambda line: info(args, f"{time.perf_counter() - began:7.1f} s  {line}")


def _load_config(args: Namespace, kind: type[C]) -> C:
    from assay.training.pipeline import read_recipe

    config = read_recipe(Path(args.recipe), kind) if args.recipe else kind()
    return config if args.seed is None else replace(config, seed=args.seed)


def _train_request(args: Namespace) -> TrainRequest:
    from assay.training.pipeline import TrainRequest
    from assay.training.selection import Exclusions, read_exclusions

    if args.folder is None:
        raise ConfigError("expected a directory of Git repositories", hint="pass one, or use --adapt REPO")
    if args.start is not None:
        raise ConfigError("--from requires --adapt", hint="add --adapt, or remove --from")
    directory = Path(args.folder)
    if not directory.is_dir():
        raise ConfigError("no such directory", file=directory, hint="pass a directory of Git repositories")
    exclusions = read_exclusions(Path(args.exclude)) if args.exclude else Exclusions(())
    corpora = Path(args.exclude_corpora) if args.exclude_corpora else None
    return TrainRequest(directory, Path(args.out), exclusions, corpora, args.workers)


def _describe_model(directory: Path) -> dict[str, Any]:
    from assay.training.pipeline import MANIFEST, MODEL

    model, manifest = (json.loads((directory / name).read_text(encoding="utf-8")) for name in (MODEL, MANIFEST))
    return {
        "schema": "assay/train/2",
        "directory": str(directory),
        "bytes": sum(file.stat().st_size for file in directory.iterdir()),
        "windows": manifest["windows"],
        **{name: model[name] for name in ("terms", "repositories", "pairs", "translations", "reports")},
    }


def _train_blocks(data: Mapping[str, Any]) -> Iterator[Block | str]:
    from assay.report.render.document import Paragraph
    from assay.training.pipeline import format_unchecked

    pairs = ", ".join(f"{kind} {count:,}" for kind, count in data["pairs"].items())
    table, reports = data["translations"], data["reports"]
    yield f"{data['terms']:,} terms from {data['repositories']} repositories. Pairs: {pairs}."
    yield f"{table['entries']:,} translations of {table['terms']:,} terms."
    if reports:
        yield _format_grade(reports[-1]["grade"])
        best = max(reports, key=lambda report: report["grade"]["reciprocal"])
        if reports[-1]["grade"]["reciprocal"] < _WORSE * best["grade"]["reciprocal"]:
            text = (
                f"At step {best['step']} the held-out MRR was {best['grade']['reciprocal']:.3f}: the training data is "
            )
            text += "too small for so many steps. Lower vectors.steps, or adapt the bundled model (--adapt)."
            yield Paragraph(text, "warning")
    if unchecked := data["windows"]["not_checked"]:
        yield Paragraph(f"{format_unchecked(unchecked)}.", "warning")
    yield f"{data['bytes'] / 1e6:.1f} MB, made in {data['seconds']:.0f} s: {data['identity']}"
    yield _format_usage(data["directory"])


def _format_grade(grade: Mapping[str, Any]) -> str:
    if not grade["questions"]:
        return "Too little data to hold out a test set: the quality of the model is unknown."
    return (
        f"{grade['questions']:,} held-out questions: the code ranks first for {grade['first']:.1%} (MRR "
        f"{grade['reciprocal']:.3f}); without shared words for {grade['bare_first']:.1%} "
        f"(MRR {grade['bare_reciprocal']:.3f})."
    )


def _format_usage(directory: str | Path) -> str:
    model = f"static:{directory}"
    return f"Use it with: assay search ... --set dense.model={model} --set translation.model={model}"


def _adapt(args: Namespace, config: AdaptConfig) -> None:
    from assay.training.adapt import AdaptRequest, adapt

    reject_flags(args, "--adapt", "folder", "exclude", "exclude_corpora", "workers")
    request = AdaptRequest(Path(args.adapt), Path(args.out), Path(args.start) if args.start else None)
    began = time.perf_counter()
    adapted = adapt(request, config, _progress(args, began))
    data = {
        "schema": "assay/adapt/2",
        "directory": None if adapted.directory is None else str(adapted.directory),
        "earlier": None if adapted.earlier is None else str(adapted.earlier),
        "seconds": round(time.perf_counter() - began, 1),
        **adapted.about(),
    }
    emit_blocks(args, f"Adapted to {adapted.repository.name}", _adapt_blocks(adapted, data), data)


def _adapt_blocks(adapted: Adapted, data: Mapping[str, Any]) -> Sequence[Block | str]:
    from assay.report.render.document import Paragraph

    test = data["test"]
    low, high = test["interval"]
    p_value = "no p-value" if test["p"] is None else f"p = {test['p']:.2g}"
    tone: Tone = "good" if adapted.verdict == "better" else "bad" if adapted.verdict == "worse" else "warning"
    return (
        f"Trained on {sum(adapted.pairs.values()):,} pairs of {adapted.repository.name} at "
        f"{adapted.repository.commit[:12]}, with {adapted.terms:,} new terms; {data['seconds']:.0f} s.",
        f"Test on {test['questions']:,} comments of {test['files']} held-out files: "
        f"{test['measure']} {test['old']:.3f} before, {test['new']:.3f} after, difference {test['difference']:+.3f} "
        f"({test['level']:.0%} interval {low:+.3f} to {high:+.3f}, {p_value}; {test['wins']} better, "
        f"{test['losses']} worse, {test['ties']} the same).",
        Paragraph(f"The adapted model is {adapted.verdict} here.", tone),
        _format_usage(adapted.directory) if adapted.directory is not None else _format_rejection(adapted),
    )


def _format_rejection(adapted: Adapted) -> str:
    text = f"The test can detect differences of {adapted.row.mde_text}. " if adapted.row.mde else ""
    text += "The old model is kept; no new one was written."
    return text + (f" {adapted.earlier} has the model of an earlier run." if adapted.earlier is not None else "")
