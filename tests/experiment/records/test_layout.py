"""The names of a folder of results: all that a run leaves is there, and nothing else."""

from assay import load_gold, run
from assay.experiment.records import directory as layout
from assay.report.publish import publish
from assay.types import AnalysisPlan


def test_everything_in_a_folder_of_results_has_its_name_there(shop, tmp_path):
    out = tmp_path / "out"
    made = run({"base": lambda q, k: ["shop/tax.py"]}, load_gold("gold.yaml"))
    publish(made, AnalysisPlan(("RR@10",), "base", tables=("forest",)), out, parquet=True)
    public = {value for name, value in vars(layout).items() if name.isupper() and name[0] != "_" and type(value) is str}
    names = {value for value in public if " " not in value}
    folders = tuple(name for name in names if name.endswith("/"))
    left = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {name for name in left if not name.startswith(folders)} <= names
    absent = {layout.STAGED, layout.COMMITTED, layout.TIMINGS, layout.UNFINISHED, layout.SHARDS}
    assert names - left - set(folders) == absent


def test_what_is_of_this_machine_stays_out_of_version_control(shop, tmp_path):
    out = tmp_path / "out"
    made = run({"base": lambda q, k: ["shop/tax.py"]}, load_gold("gold.yaml"))
    publish(made, AnalysisPlan(("RR@10",), "base"), out)
    ignored = (out / layout.GIT_IGNORE).read_text().split()
    local = (layout.HTML, layout.TIMINGS, layout.LOCK, f"{layout.UNFINISHED}/", f"{layout.STAGED}/")
    assert set(local) <= set(ignored)
