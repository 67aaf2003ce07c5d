"""Fine-tune a contextual encoder (BERT with mean pooling) on mined pairs, as a low-rank delta of its upper layers.

The delta is W + up · down for each linear layer (Hu et al. 2021, LoRA). The layers below are frozen, so the backward
pass ends there. PyTorch is imported only when training begins.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError, InputError, SetupError, install_hint
from assay.files import write_atomic
from assay.search.delta import write_merged
from assay.search.embedders import read_tensors
from assay.search.models import list_models
from assay.search.query import find_words, word_terms
from assay.settings import setting
from assay.store.array_file import JSON, write_store
from assay.training.config import HardConfig, HeldOutConfig, KindWeights, MiningConfig, SameFile, VocabularyConfig
from assay.training.dataset import TrainingPairs, Vocabulary, choose_vocabulary, encode, find_hard
from assay.training.pipeline import WORK, Tell, TrainRequest, dump_json, key_of, lock_output, mine_shards
from assay.training.shards import read_shard
from assay.training.vectors import draw_rows, make_held_out_test, make_plan, masks

DELTA, ABOUT, MANIFEST, ENCODER = "delta.assay", "delta.json", "manifest.json", "encoder"
_BATCH: Final = 4  # stream of the seed
_NEGATIVE: Final = -1e4  # logit of a masked pair
_EVAL: Final = 64  # texts per forward pass of the evaluation
#: Linear layers of a BERT layer, by their names in the weights file.
_LINEAR: Final = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "intermediate.dense", "output.dense",
)  # fmt: skip
#: Mined queries are statements; searches are often questions.
_OPENINGS: Final = (
    "how do I", "how to", "where is the code that", "which function", "what does", "find the code to", "I want to",
    "where do we",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LowRankConfig:
    rank: int = setting(8, "rank of the delta", least=1)  # 220,000 numbers in four layers
    layers: int = setting(4, "number of upper layers that learn", least=1)
    steps: int = setting(1000, "training steps", least=0)
    batch: int = setting(32, "pairs per batch", least=2)
    group: int = setting(4, "maximum pairs of one repository per portion, before their neighbors", least=1)
    # neighbors come with their queries, so that hard negatives cost no additional forward pass
    neighbors: int = setting(3, "pairs added per drawn pair: code that BM25 confuses with the answer", least=0)
    query_tokens: int = setting(32, "maximum tokens of a query", least=4)
    code_tokens: int = setting(96, "maximum tokens of code", least=4)
    rate: float = setting(5e-4, "maximum learning rate", least=0.0)
    warmup: int = setting(30, "warmup steps", least=0)
    temperature: float = setting(0.05, "temperature of the contrastive loss", least=0.01, most=1.0)  # as in the base
    overlap_dropout: float = setting(
        0.5, "share of queries that lose each word shared with the code with even odds", least=0.0, most=1.0
    )
    questions: float = setting(0.25, "share of queries phrased as questions", least=0.0, most=1.0)
    same_file: SameFile = field(
        default="kinds",
        metadata={"about": "pairs of the same file excluded as negatives: all, kinds (other kinds of pairs) or none"},
    )
    checkpoint: int = setting(25, "steps between checkpoints", least=1)
    report: int = setting(200, "steps between evaluations on held-out pairs", least=1)


@dataclass(frozen=True, slots=True)
class EncoderTrainConfig:
    """All settings of encoder training."""

    mining: MiningConfig = field(default_factory=lambda: MiningConfig(texts=1200))
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    kinds: KindWeights = field(default_factory=lambda: KindWeights(name=0.35, commit=0.35, path=0.0, heading=0.5))
    held_out: HeldOutConfig = field(default_factory=lambda: HeldOutConfig(share=0.05, queries=200, candidates=256))
    hard: HardConfig = field(default_factory=lambda: HardConfig(queries=10_000))
    delta: LowRankConfig = field(default_factory=LowRankConfig)
    seed: int = setting(0, "seed of learning; mining has a separate one", least=0)
    threads: int = setting(2, "threads of PyTorch", least=1)


def train_encoder(request: TrainRequest, base: Path, config: EncoderTrainConfig, tell: Tell) -> dict[str, Any]:
    """Mine pairs, train a delta of the model in `base`, and write it with manifest and description to `request.out`."""
    if not config.mining.texts:
        raise ConfigError("mining.texts: expected at least 1, got 0", hint="set mining.texts = 1200 in the recipe")
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        if not (base / name).is_file():
            raise ConfigError("file not found", file=base / name, hint="pass the directory of a BERT encoder")
    with lock_output(request.out):
        shards, manifest = mine_shards(request, config.mining, tell)
        data = load_texts(shards, config)
        tell(f"pairs: {len(data.pairs):,}, {int(data.pairs.held_out.sum()):,} held out")
        identity = key_of([path.name for path in shards], len(data.pairs), asdict(config), _digest(base))
        trainer = Trainer(base, data, config, request.out / WORK / f"encoder-{identity}.pt")
        about = trainer.train(tell)
        meta: dict[str, JSON] = {"base": _digest(base), "rank": config.delta.rank, "layers": config.delta.layers}
        delta = trainer.delta_arrays()
        write_store(request.out / DELTA, meta, delta)
        for model, directory in list_models():
            if model.base == _digest(base) and directory:
                write_merged(directory, delta, request.out / ENCODER)
                tell(f"{model.name} with the delta: {request.out / ENCODER}, for the setting dense.encoder")
            elif model.base == _digest(base):
                tell(f"the delta was not merged: run `assay model install {model.name}`, then the same training again")
        write_atomic(request.out / ABOUT, dump_json({"base": _digest(base), "settings": asdict(config), **about}))
        write_atomic(request.out / MANIFEST, dump_json(manifest))
    return about


def _digest(base: Path) -> str:
    return sha256((base / "model.safetensors").read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class TextPairs:
    pairs: TrainingPairs
    vocabulary: Vocabulary
    questions: Sequence[str]
    texts: Sequence[str]

    def code_terms(self, row: int) -> set[str]:
        begin, end = self.pairs.code.offset[row], self.pairs.code.offset[row + 1]
        return {self.vocabulary.terms[term] for term in self.pairs.code.term[begin:end]}

    def unshared(self, row: int, keep: Callable[[], bool]) -> str:
        """Return the query without the words that occur in the code, except those that `keep` chooses."""
        words, known = self.questions[row].split(), self.code_terms(row)
        shared = [any(term in known for run in find_words(word) for term in word_terms(run)) for word in words]
        kept = [word for word, drop in zip(words, shared, strict=True) if not drop or keep()]
        return " ".join(kept if len(kept) > 1 else words)


def load_texts(shards: Sequence[Path], config: EncoderTrainConfig) -> TextPairs:
    read = [read_shard(path) for path in shards]
    vocabulary = choose_vocabulary(read, config.vocabulary)
    pairs = encode(read, vocabulary, config.held_out)
    by_name = {shard.repository: shard for shard in read}
    owners = [by_name[pairs.repositories[number]] for number in pairs.repository.tolist()]
    rows = list(zip(owners, pairs.row.tolist(), strict=True))
    questions, texts = [shard.question[row] for shard, row in rows], [shard.text[row] for shard, row in rows]
    return TextPairs(pairs, vocabulary, questions, texts)


class Trainer:
    """Low-rank training of one encoder; the state survives any interruption in the file `keep`."""

    def __init__(self, base: Path, data: TextPairs, config: EncoderTrainConfig, keep: Path) -> None:
        try:
            import tokenizers
            import torch
        except ImportError as error:
            message = f"training an encoder needs the package {error.name}, which cannot be imported: {error}"
            raise SetupError(message, hint=install_hint("train-encoder")) from error
        torch.set_num_threads(config.threads)
        self.torch, self.data, self.config, self.keep = torch, data, config, keep
        self.network = Network(torch, read_tensors(base / "model.safetensors"), base)
        self.tokenizer = tokenizers.Tokenizer.from_file(str(base / "tokenizer.json"))
        self.delta = self.network.new_delta(config.delta.rank, config.delta.layers, config.seed)
        self.plan = make_plan(data.pairs, config.kinds, config.delta.group)
        if not len(self.plan.rows):
            raise InputError("no pairs to train on", hint="add repositories, or lower held_out.share in the recipe")
        self.hard = find_hard(data.pairs, config.delta.same_file, config.hard, config.seed)
        self.test = make_held_out_test(data.pairs, config.held_out)

    def train(self, tell: Tell) -> dict[str, Any]:
        torch, own = self.torch, self.config.delta
        optimizer = torch.optim.AdamW([part for pair in self.delta.values() for part in pair], weight_decay=0.01)
        step, loss, seconds, reports = 0, 0.0, 0.0, []
        if self.keep.exists():
            state = torch.load(io.BytesIO(self.keep.read_bytes()), weights_only=True)
            step, loss, seconds, reports = state["step"], state["loss"], state["seconds"], state["reports"]
            optimizer.load_state_dict(state["optimizer"])
            with torch.no_grad():
                for name, parts in self.delta.items():
                    for part, stored in zip(parts, state["delta"][name], strict=True):
                        part.copy_(stored)
        else:
            reports.append({"step": 0, **self.evaluate()})
            tell(_format(reports[-1]))
        began = time.process_time() - seconds
        while step < own.steps:
            latest = self._loss(np.random.default_rng((self.config.seed, _BATCH, step)))
            optimizer.zero_grad()
            latest.backward()
            for group in optimizer.param_groups:
                group["lr"] = own.rate * min(1.0, (step + 1) / max(1, own.warmup)) * (1 - step / own.steps)
            optimizer.step()
            loss = 0.95 * loss + 0.05 * latest.item() if step else latest.item()
            step += 1
            if step % own.report == 0 or step == own.steps:
                reports.append({"step": step, "loss": round(loss, 4), **self.evaluate()})
                tell(_format(reports[-1]))
            elif step % own.checkpoint == 0:
                tell(f"step {step}/{own.steps}: loss {loss:.3f}, {time.process_time() - began:.0f} CPU seconds")
            if step % own.checkpoint == 0 or step == own.steps:
                state = {"step": step, "loss": loss, "seconds": time.process_time() - began, "reports": reports}
                state |= {"optimizer": optimizer.state_dict(), "delta": self.delta}
                buffer = io.BytesIO()
                torch.save(state, buffer)
                write_atomic(self.keep, buffer.getvalue())
        return {"reports": reports, "cpu_seconds": round(time.process_time() - began), "pairs": len(self.data.pairs)}

    def delta_arrays(self) -> dict[str, NDArray[np.float16]]:
        sides = ("down", "up")
        return {
            f"{name}.{side}": part.detach().numpy().astype(np.float16)
            for name, parts in self.delta.items()
            for side, part in zip(sides, parts, strict=True)
        }

    def _loss(self, draw: np.random.Generator) -> Any:  # noqa: ANN401 - a tensor
        torch, own, pairs = self.torch, self.config.delta, self.data.pairs
        rows = draw_rows(self.plan, max(2, own.batch // (1 + own.neighbors)), own.group, draw)
        more = [self.hard.draw(rows, len(rows), draw) for _ in range(own.neighbors)]
        rows = np.array(list(dict.fromkeys(np.concatenate((rows, *more)).tolist()))[: own.batch])
        query = self._embed([self._question(row, draw) for row in rows.tolist()], own.query_tokens)
        code = self._embed([self.data.texts[row] for row in rows.tolist()], own.code_tokens)
        logits = query @ code.T / own.temperature
        logits = logits.masked_fill(torch.from_numpy(masks(pairs, rows, rows, own.same_file)), _NEGATIVE)
        target = torch.arange(len(rows))
        cross_entropy = torch.nn.functional.cross_entropy
        return (cross_entropy(logits, target) + cross_entropy(logits.T, target)) / 2

    def _question(self, row: int, draw: np.random.Generator) -> str:
        own, text = self.config.delta, self.data.questions[row]
        if draw.random() < own.overlap_dropout:
            text = self.data.unshared(row, lambda: bool(draw.random() < 0.5))
        if draw.random() < own.questions:
            text = f"{_OPENINGS[draw.integers(len(_OPENINGS))]} {text[:1].lower()}{text[1:]}"
        return text

    def _embed(self, texts: Sequence[str], tokens: int) -> Any:  # noqa: ANN401 - a tensor
        self.tokenizer.enable_truncation(tokens)
        self.tokenizer.enable_padding()
        encoded = self.tokenizer.encode_batch(list(texts))
        ids = self.torch.tensor([each.ids for each in encoded])
        mask = self.torch.tensor([each.attention_mask for each in encoded])
        return self.network.embed(ids, mask, self.delta)

    def evaluate(self) -> dict[str, Any]:
        """Rank held-out code for each held-out query, once whole and once without the words shared with the code."""
        pairs, data, own = self.data.pairs, self.data, self.config.delta
        ranks: dict[str, list[NDArray[np.float64]]] = {"mrr": [], "bare_mrr": []}
        for rows, asked in self.test:
            right = pairs.code_key[rows[asked]][:, None] == pairs.code_key[rows][None, :]
            right |= pairs.query_key[rows[asked]][:, None] == pairs.query_key[rows][None, :]
            code = np.concatenate(list(self._batches([data.texts[row] for row in rows.tolist()], own.code_tokens)))
            whole = [data.questions[row] for row in rows[asked].tolist()]
            bare = [data.unshared(row, lambda: False) for row in rows[asked].tolist()]
            for name, texts in (("mrr", whole), ("bare_mrr", bare)):
                scores = np.concatenate(list(self._batches(texts, own.query_tokens))) @ code.T
                answer = scores[np.arange(len(asked)), asked]
                ranks[name].append(1.0 + ((scores > answer[:, None]) & ~right).sum(axis=1))
        means = {
            name: round(float(np.mean(1 / np.concatenate(each))), 4) if each else 0.0 for name, each in ranks.items()
        }
        return {"queries": sum(map(len, ranks["mrr"])), **means}

    def _batches(self, texts: Sequence[str], tokens: int) -> Iterator[NDArray[np.float32]]:
        with self.torch.no_grad():
            for begin in range(0, len(texts), _EVAL):
                yield self._embed(texts[begin : begin + _EVAL], tokens).numpy()


def _format(report: Mapping[str, Any]) -> str:
    loss = f", loss {report['loss']:.3f}" if "loss" in report else ""
    return (
        f"step {report['step']}{loss}: {report['queries']} held-out queries: MRR {report['mrr']:.3f}; "
        f"without shared words {report['bare_mrr']:.3f}"
    )


class Network:
    """The forward pass of a BERT encoder with mean pooling, from its named weights."""

    def __init__(self, torch: Any, tensors: Mapping[str, NDArray[Any]], base: Path) -> None:  # noqa: ANN401
        self.torch = torch
        self.weights = {name.removeprefix("bert."): torch.from_numpy(array.copy()) for name, array in tensors.items()}
        self.layers = sum(name.endswith("attention.self.query.weight") for name in self.weights)
        if not self.layers:
            hint = "use the directory of a BERT model such as all-MiniLM-L6-v2"
            raise ConfigError("expected the weights of a BERT encoder", file=base / "model.safetensors", hint=hint)
        self.heads = int(json.loads((base / "config.json").read_text(encoding="utf-8"))["num_attention_heads"])

    def new_delta(self, rank: int, layers: int, seed: int) -> dict[str, tuple[Any, Any]]:
        """Return factors (down, up) whose product is 0, by the name of their linear layer."""
        torch, source = self.torch, self.torch.Generator().manual_seed(seed)
        delta = {}
        for layer in range(max(0, self.layers - layers), self.layers):
            for part in _LINEAR:
                name = f"encoder.layer.{layer}.{part}"
                height, width = self.weights[f"{name}.weight"].shape
                down = torch.randn(rank, width, generator=source) / width**0.5
                delta[name] = (down.requires_grad_(), torch.zeros(height, rank, requires_grad=True))
        return delta

    def embed(self, ids: Any, mask: Any, delta: Mapping[str, tuple[Any, Any]]) -> Any:  # noqa: ANN401
        torch, functional = self.torch, self.torch.nn.functional
        frozen = self.layers - len(delta) // len(_LINEAR)
        with torch.no_grad():
            words = self.weights["embeddings.word_embeddings.weight"][ids]
            words = words + self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
            words = words + self.weights["embeddings.token_type_embeddings.weight"][0]
            state = self._normalize(words, "embeddings")
        allowed = mask[:, None, None, :].bool()
        for layer in range(self.layers):
            with torch.no_grad() if layer < frozen else nullcontext():
                state = self._layer(state, allowed, f"encoder.layer.{layer}", delta)
        weight = mask[:, :, None].to(state.dtype)
        return functional.normalize((state * weight).sum(1) / weight.sum(1), dim=1)

    def _layer(self, state: Any, allowed: Any, name: str, delta: Mapping[str, tuple[Any, Any]]) -> Any:  # noqa: ANN401
        functional = self.torch.nn.functional

        def linear(values: Any, part: str) -> Any:  # noqa: ANN401
            full = f"{name}.{part}"
            result = functional.linear(values, self.weights[f"{full}.weight"], self.weights[f"{full}.bias"])
            if full in delta:
                down, up = delta[full]
                result = result + values @ down.T @ up.T
            return result

        size, length, width = state.shape
        heads = [
            linear(state, part).view(size, length, self.heads, width // self.heads).transpose(1, 2)
            for part in _LINEAR[:3]
        ]
        attended = functional.scaled_dot_product_attention(*heads, attn_mask=allowed)
        attended = linear(attended.transpose(1, 2).reshape(size, length, width), _LINEAR[3])
        state = self._normalize(state + attended, f"{name}.attention.output")
        inner = linear(functional.gelu(linear(state, _LINEAR[4])), _LINEAR[5])
        return self._normalize(state + inner, f"{name}.output")

    def _normalize(self, values: Any, name: str) -> Any:  # noqa: ANN401
        weight, bias = (self.weights[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return self.torch.nn.functional.layer_norm(values, weight.shape, weight, bias, 1e-12)
