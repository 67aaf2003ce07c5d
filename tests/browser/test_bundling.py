"""Scripts that cannot be joined into one page are refused with the name of the module."""

import pytest

from assay.browser import bundle as bundling

CASES = {
    "cycle": ({"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}, "imports itself"),
    "missing export": ({"a.js": 'import { c } from "./b.js";', "b.js": "export const b = 1;"}, "b.js does not export"),
    "other export": ({"a.js": "export default 1;"}, "unsupported import or export"),
    "same name": (
        {"a.js": 'import { b } from "./b.js";\nconst c = 2;', "b.js": "export const b = 1;\nconst c = 3;"},
        "c is declared in b.js and in a.js",
    ),
    "end of the script": ({"a.js": 'const a = "</script>";'}, "would end"),
}


@pytest.mark.parametrize(("files", "message"), CASES.values(), ids=CASES)
def test_scripts_that_cannot_be_joined_are_refused(files, message, monkeypatch):
    monkeypatch.setattr(bundling, "read", files.__getitem__)
    with pytest.raises(bundling.BundleError, match=message):
        bundling.bundle.__wrapped__("a.js")
