from assay.corpus import open_corpus, parse_spec
from assay.engines import as_engine
from assay.experiment.corpora import private_copy


class Reader:
    """An engine that reads the original."""

    private = False
    config = {"kind": "test"}  # noqa: RUF012  # what an engine declares

    def open(self, corpus):
        return self

    def search(self, query, k):
        return []

    def close(self):
        pass


class Writer(Reader):
    """An engine that writes where it works."""

    private = True


def test_private_engine_works_on_a_copy_and_others_on_the_original(shop):
    corpus = open_corpus(parse_spec(str(shop)))
    with private_copy(as_engine(Reader()), corpus) as original:
        assert original is corpus
    with private_copy(as_engine(Writer()), corpus) as copy:
        assert copy.root != corpus.root
        assert copy.digest == corpus.digest
        assert (copy.root / "shop/cart.py").is_file()
    assert not copy.root.exists()


def test_copy_is_given_to_any_engine_that_is_to_have_its_own(shop):
    corpus = open_corpus(parse_spec(str(shop)))
    with private_copy(as_engine(Reader()), corpus, always=True) as copy:
        assert copy.root != corpus.root
