"""The names of a folder of results: all that a run leaves is there, and nothing else."""

from assay import load_gold, run
from assay.experiment.records import layout
from assay.report import publish
from assay.types import Claim


def test_everything_in_a_folder_of_results_has_its_name_there(shop, tmp_path):
    made = run({"base": lambda q, k: ["shop/tax.py"]}, load_gold("gold.yaml"))
    publish(made, Claim(("RR@10",), "base", tables=("forest",)), tmp_path, parquet=True)
    names = {value for name, value in vars(layout).items() if name.isupper()}
    folders = tuple(name for name in names if name.endswith("/"))
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {name for name in left if not name.startswith(folders)} <= names
    absent = {layout.STAGED, layout.COMMITTED, layout.TIMINGS, layout.UNFINISHED, layout.SHARDS}
    assert names - left - set(folders) == absent


def test_what_is_of_this_machine_stays_out_of_version_control(shop, tmp_path):
    made = run({"base": lambda q, k: ["shop/tax.py"]}, load_gold("gold.yaml"))
    publish(made, Claim(("RR@10",), "base"), tmp_path)
    ignored = (tmp_path / layout.GIT_IGNORE).read_text().split()
    local = (layout.HTML, layout.TIMINGS, layout.LOCK, f"{layout.UNFINISHED}/", f"{layout.STAGED}/")
    assert set(local) <= set(ignored)
