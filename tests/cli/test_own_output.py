"""What a command leaves in the folder that is measured does not change the next measurement."""

import contextlib
import io

from assay.cli.main import main
from assay.corpus import open_corpus
from assay.types import CorpusSpec


def redirected(path, *arguments):
    """Call as a shell does with `> path`: the file is there before anything is printed."""
    path.write_text("")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main([*arguments, "--json", "--quiet"]) == 0
    path.write_text(text.getvalue())


def test_reports_baselines_and_json_in_the_corpus_change_neither_its_digest_nor_its_files(shop, capsys):
    def seen():
        corpus = open_corpus(CorpusSpec("path", str(shop)))
        return corpus.digest, len(corpus.files)

    asked = ["run", "--gold", "gold.yaml", "--engine", "mine=keywords", "--baseline", "mine", "--no-references"]
    assert main([*asked, "--quiet"]) == 0
    before = seen()
    assert main(["report", "results", "--out", "small.html"]) == 0
    assert main(["gate", "results", "--write-baseline", "baseline.json"]) == 0
    redirected(shop / "score.json", "score", "results")
    redirected(shop / "gate.json", "gate", "results", "--against", "baseline.json")
    redirected(shop / "made.json", *asked)
    assert seen() == before
    assert main([*asked, "--quiet"]) == 0
    assert main(["gate", "results", "--against", "baseline.json"]) == 0  # 5 where the corpus were another one
    capsys.readouterr()
    (shop / "data.json").write_text('{"price": 1}')
    assert seen()[1] == before[1] + 1
