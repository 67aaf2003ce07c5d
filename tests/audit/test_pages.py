"""The page of an audit: everything escaped, nothing loaded, commands to be copied as they stand."""

import json
from dataclasses import replace

from assay.audit.findings import Audit, AuditFinding, AuditQuery, Proportion, Severity
from assay.audit.run_audit import FILES, audit_document, write_audit
from assay.report.render.document import to_markdown
from tests.audit import specimens
from tests.audit.conftest import SMALL, audited

NASTY = "</pre><script>alert(1)</script> ``` | \x1b[31m"


def nasty_audit() -> Audit:
    finding = AuditFinding(
        "prefix",
        NASTY,
        Severity.BROKEN,
        NASTY,
        Proportion(1, 2, 0.1, 0.9),
        (NASTY,),
        (f"assay engines query x '{NASTY}'",),
    )
    return Audit(NASTY, NASTY, "0", 1, (AuditQuery(NASTY, NASTY),), (finding,), notes=(NASTY,))


def test_audit_writes_its_files(tmp_path):
    write_audit(nasty_audit(), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {".assayignore", *FILES}


def test_audit_markdown_keeps_code_inside_its_fence():
    lines = to_markdown(audit_document(nasty_audit())).split("\n")
    fences = [line for line in lines if line.startswith("````")]
    assert fences[0] == "````text"
    assert len(fences) % 2 == 0
    assert "\x1b" not in "\n".join(lines)


def test_audit_json_holds_every_finding_with_a_command(market, tmp_path):
    audit = audited(specimens.NotANumber(), market, replace(SMALL, only=("prefix", "ties")))
    write_audit(audit, tmp_path)
    data = json.loads((tmp_path / "audit.json").read_text(), parse_constant=lambda text: 1 / 0)
    assert data["schema"] == "assay/audit/1"
    assert len(data["findings"]) == len(audit.findings)
    assert all(finding["commands"] for finding in data["findings"])
    assert all(finding["commands"][-1].startswith("assay audit specimen --only") for finding in data["findings"])


def test_page_counts_severities_and_tells_each_that_is_amiss(market):
    audit = audited(specimens.Shallow(), market, replace(SMALL, only=("prefix",)))
    page = to_markdown(audit_document(audit))
    assert "3 properties checked: 1 violated, 2 ok." in page
    assert "## prefix, top 5 of top 10: violated" in page
    assert (
        "assay engines query specimen 'add item cart' -k 5\nassay engines query specimen 'add item cart' -k 10" in page
    )


def finding(severity):
    return AuditFinding("prefix", "a law", severity, "said", commands=("assay audit x --only prefix",))


def page_of(*severities):
    return to_markdown(audit_document(Audit("x", "y", "0", 1, (), tuple(map(finding, severities)))))


def test_page_counts_in_the_plural():
    page = page_of(*[Severity.BROKEN] * 6, *[Severity.WEAKNESS] * 2, Severity.FINE, Severity.FINE)
    assert "10 properties checked: 6 violated, 2 weaknesses, 2 ok." in page
    assert "1 property checked: 1 weakness." in page_of(Severity.WEAKNESS)


def test_secrets_of_the_engine_are_in_no_finding(market):
    class Telling(specimens.Clean):
        secrets = ("hunter2-hunter2",)

        class Session(specimens.Clean.Session):
            def search(self, query, k):
                raise RuntimeError("token hunter2-hunter2 was refused")

            def update_within(self, corpus, seconds):
                raise RuntimeError("token hunter2-hunter2 may not update")

    audit = audited(Telling(), market, replace(SMALL, only=("answers", "update")))
    assert "may not update" in next(f for f in audit.findings if f.check == "update").sentence
    assert "was refused" in repr(audit)
    assert "hunter2" not in repr(audit)
