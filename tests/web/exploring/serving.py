"""Runs for the explorer, and how its tests ask for them."""

from urllib.parse import urlencode

from assay.engines import make_engine
from assay.experiment.running.turns import run
from assay.gold import load_gold
from assay.report import publish
from assay.types import Claim

OLD = {"kind": "builtin", "search": {"stem": {"files": 0.0}, "dense": {"model": ""}}}


def make_run(gold_file, folder, builtin, *, cache):
    """Run the builtin and a reference over a gold set, and publish it."""
    engines = {"mine": make_engine(builtin), "keywords": make_engine("keywords"), "random": make_engine("random")}
    made = run(engines, load_gold(gold_file), k=5, cache=cache)
    publish(made, Claim(("nDCG@5", "RR@5"), "keywords"), folder)


def listed(client):
    return {one["name"]: one for one in client.get("/api/runs").json["runs"]}


def ask(client, name="before", **data):
    given = {"engine": "mine", "gold": "shop", "changes": {}, **data}
    return client.post(f"/api/run/{listed(client)[name]['id']}/ask", given)


def source(client, path, gold="shop", name="before"):
    return client.get(f"/api/run/{listed(client)[name]['id']}/source?{urlencode({'gold': gold, 'path': path})}")
