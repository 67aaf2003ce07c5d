import pytest

from tests.gold.lint.world import codes, corpus_of, lint_all, query

SHIMS = {
    "core.h": '// Kept for old users.\n#include "base.h"\n\n#ifdef HEAVY\n#  include "format.h"\n#endif\n',
    "guarded.h": '#ifndef CORE_H_\n#define CORE_H_\n/* Moved\n   long ago. */\n#include "base.h"\n#endif\n',
    "http.ts": "export * from './real/http';\nexport {\n  one,\n  two,\n} from './real/other';\n",
    "old.py": '# Moved.\nfrom new import (\n    one,\n    two,\n)\n\n__all__ = ["one", "two"]\n',
    "mod.rs": "//! Reexports.\nmod inner;\npub use inner::{\n    One,\n    Two,\n};\n",
    "old.js": "'use strict';\nmodule.exports = require('./new');\n",
}
REAL = {
    "core.h": '#include "base.h"\n\nint answer(int x);\n',
    "http.ts": "export * from './real/http';\n\nexport function one() {\n  return 1;\n}\n",
    "old.py": "from new import one\n\nLIMIT = one(3)\n",
    "mod.rs": "mod inner;\npub use inner::One;\n\npub fn two() -> One {\n    One\n}\n",
    "setup.js": "const app = require('./app');\n\napp.listen(80);\n",
    "macros.rs": "use a::define;\n\ndefine! {\n    pub struct Made;\n}\n",
    "empty.py": "# nothing here\n",
}


@pytest.mark.parametrize("path", SHIMS)
def test_file_that_only_passes_on_is_found(tmp_path, path):
    report = lint_all(corpus_of(tmp_path, {path: SHIMS[path]}), query("q", "how text is laid out", path))
    hints = [finding.hint for finding in report.findings if finding.code == "G203"]
    assert hints == ["label the file that defines the code"]


@pytest.mark.parametrize("path", REAL)
def test_file_with_code_of_its_own_is_no_finding(tmp_path, path):
    report = lint_all(corpus_of(tmp_path, {path: REAL[path]}), query("q", "how text is laid out", path))
    assert not codes(report, "G203")


def test_query_about_what_is_exported_may_mean_the_shim(tmp_path):
    corpus = corpus_of(tmp_path, {"http.ts": SHIMS["http.ts"]})
    assert not codes(lint_all(corpus, query("q", "public exports of the http part", "http.ts")), "G203")
