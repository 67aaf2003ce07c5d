"""Completion sets whose prompts are blank in a copy of the corpus."""

import json

from hypothesis import given
from hypothesis import strategies as st

from assay.cli.main import main
from assay.corpus import open_corpus
from assay.gold import load_gold, resolve
from assay.gold.formats.benchmarks import MASKED, mask_prompts
from assay.types import CorpusSpec
from tests.gold.formats.data_sets import REPOEVAL, lines
from tests.gold.formats.files import write

WORDS = [f"{verb}_{noun}" for verb in ("open", "close", "count", "merge") for noun in ("order", "basket", "rate")]
SOURCE = [f"    {name} = {name}_of(item)  # step {n}" for n, name in enumerate(WORDS * 5)]


def task(start, length, cursor):
    """Return a task that completes lines from `start` on, with the cursor at a column of the first."""
    before, answer = SOURCE[:start], SOURCE[start : start + length]
    prompt = "\n".join([*before, answer[0][:cursor]])
    truth = "\n".join([answer[0][cursor:], *answer[1:]])
    about = {"task_id": f"t/{start}", "ground_truth": truth, "fpath_tuple": ["till", "a.py"], "line_no": start}
    return {"prompt": prompt, "metadata": about}


@given(
    starts=st.lists(st.integers(1, 50), min_size=1, max_size=4, unique=True),
    length=st.integers(1, 4),
    cursor=st.sampled_from([0, 4, 9]),
)
def test_masked_files_keep_targets_and_line_numbers_and_no_prompt(tmp_path_factory, starts, length, cursor):
    folder = tmp_path_factory.mktemp("masked")
    (folder / "repos" / "till").mkdir(parents=True)
    (folder / "repos" / "till" / "a.py").write_text("\n".join(SOURCE))
    path = write(folder, "repoeval.jsonl", lines([task(start, length, cursor) for start in starts]))
    (gold,) = load_gold(path, corpus=CorpusSpec("path", str(folder / "repos"))).golds
    (masked,), directories = mask_prompts([gold])
    text = directories["masked/repoeval"]["a.py"].split("\n")
    answers = {number for start in starts for number in range(start, start + length)}
    prompts = {number for start in starts for number in range(max(0, start - (9 if cursor > 4 else 10)), start)}
    assert len(text) == len(SOURCE)
    for number, (old, new) in enumerate(zip(SOURCE, text, strict=True)):
        if number in starts and cursor > 4:
            assert new == old[cursor:]
        elif number in answers or number not in prompts:
            assert new == old
        else:
            assert new == ""
    assert (masked.provenance["masked"], masked.queries[0].tags) == (MASKED, {})


def test_convert_writes_the_masked_corpus_beside_the_set(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    price = (
        "import shop\n\n\ndef total(basket):\n    prices = [line.price for line in basket]\n    return sum(prices)\n"
    )
    for name, text in {
        "owner_shop/shop/price.py": price,
        "owner_shop/rates.py": 'RATES = {\n    "a": 1,\n}\n',
        "till/a.py": "x = 1\ny = 2\n",
    }.items():
        write(tmp_path / "repos", name, text)
    write(tmp_path, "repoeval.jsonl", lines(REPOEVAL))
    convert = ["gold", "convert", "repoeval.jsonl", "out", "--corpus", "repos", "--mask-prompts", "--to"]
    assert main([*convert, "native"]) == 0
    assert (tmp_path / "out/masked/repoeval-till/a.py").read_text() == "\n 2\n"
    assert (tmp_path / "out/masked/repoeval-owner_shop/rates.py").read_text() == '\n    "a": 1,\n}\n'
    for gold in load_gold("out").golds:
        assert not resolve(gold, open_corpus(gold.corpus, base=tmp_path / "out")).problems
    assert main([*convert, "octocode"]) == 2
    assert "--mask-prompts requires --to native" in capsys.readouterr().err


def test_a_keyword_search_no_longer_finds_the_prompt(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    functions = [
        [f"def {name}(first, second):", f"    value = {name}_by(first)", "    return value + second", ""]
        for name in WORDS
    ]
    tasks = []
    for number, text in enumerate(functions):
        write(tmp_path / "repos" / "till", f"m{number}.py", "\n".join(text))
        about = {"task_id": f"t/{number}", "fpath_tuple": ["till", f"m{number}.py"], "line_no": 2}
        tasks.append({"prompt": "\n".join(text[:2]), "metadata": {**about, "ground_truth": text[2]}})
    write(tmp_path, "repoeval.jsonl", lines(tasks))
    convert = ["gold", "convert", "repoeval.jsonl", "out/gold.yaml", "--corpus", "repos", "--to", "native"]
    assert main([*convert, "--mask-prompts"]) == 0
    means = []
    for source in (["repoeval.jsonl", "--corpus", "repos"], ["out/gold.yaml"]):
        capsys.readouterr()
        assert main(["run", "--gold", *source, "--engine", "keywords", "--measure", "RR@10", "--json"]) == 0
        means.append(json.loads(capsys.readouterr().out)["decision"]["candidate"]["mean"])
    assert means[0] == 1.0
    assert means[1] < 0.5
