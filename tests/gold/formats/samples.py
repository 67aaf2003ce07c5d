"""Small sound files of every format that this room reads from one file, written by us: golden samples to break."""

KARTA = """\
corpus_id: shop-core
version: "0.1.0"
author: "a person"
queries:
  - id: Q01
    query: "How is a basket priced?"
    type: direct_concept
    expected:
      - shop/price.py
    rationale: |
      price.py sums the basket.
      tax.py only knows the rates.
    has_adversarial: true
    adversarial:
      - file: shop/tax.py
        type: sibling
  - id: Q02
    query: "Where are rates kept?"
    type: behavioural
    expected: [shop/tax.py, shop/rates.py]
    has_adversarial: false
"""

KARTA_CORPUS = """\
id: shop-core
name: "The shop"
tag: "4.2"
base_path: "${env:SHOP}"
include: ["shop/**/*.py"]
exclude: ["**/test/**"]
"""

KARTA_LAYERS = """\
corpus_id: shop-core
version: "2.1"
reviewed: true
queries:
  - id: Q01
    category: pricing
    origin: interview
    retrieval:
      primary: [shop/price.py]
      secondary: [shop/rates.py]
    cognitive:
      human: How is a basket priced?
      ai_optimized: basket price computation, sum of line items, tax rates
      keyword: basket price
      wrong_terminology: how is a cart priced?
      cross_module: null
      passive: how are baskets priced?
    interference:
      - file: shop/tax.py
        relationship: sibling
        strength: high
        confusion: it knows the rates and sums nothing
        seen: often
    rationale:
      owner: price.py
      reason: it sums
      boundary: tax.py only knows the rates
      note: agreed in May
    evaluation:
      metric_families: [recall@5, MRR, rank_gap, displacement_rate, robustness]
"""

SIACODE = """\
{
  "name": "shop",
  "queries": [
    {"id": "q 1", "query_text": "sum of a basket", "relevant_docs": ["shop/price.py:Basket.total", "shop/tax.py"],
     "metadata": {"category": "lookup", "difficulty": "easy", "expected_symbols": ["total"]}},
    {"id": 2, "query_text": "rates", "relevant_docs": ["shop/tax.py:3-9"]}
  ],
  "corpus": {"shop/tax.py": "RATES = {}"}
}
"""

PYCKLE_JSON = """\
[
  {"query": "where is the basket priced", "expected": "shop/price.py"},
  {"query": "how are rates read", "expected": ["shop/tax.py::read", "shop/rates.py"], "note": "from grep"}
]
"""

PYCKLE_PYTHON = '''\
"""Questions from our shell history."""
import os

EVAL_SET = [
    {
        "query": "where is the basket priced",
        "expected": "shop/price.py",
    },
    # the second
    {"query": "how are " "rates read", "expected": ("shop/tax.py::read", "shop/rates.py")},
]

if __name__ == "__main__":
    print(len(EVAL_SET), os.sep)
'''

PYCKLE_RESULTS = """\
{
  "mrr_at_10": 0.5,
  "results": [
    {"query": "where is the basket priced", "expected": "shop/price.py", "ranked": ["a.py", "shop/price.py"]}
  ]
}
"""

OCTOCODE = """\
query,result1,result2,result3
"sum, of a basket",shop/price.py:41-61:2,shop/tax.py:64-114:1,

"rates",shop/tax.py:1-1:1,shop/rates.py:2-3:2
"""

SEMBLE = """\
[
  {
    "query": "sum of a basket",
    "relevant": ["shop/price.py", {"path": "shop/tax.py", "start_line": 3, "end_line": 9}],
    "secondary": ["shop/rates.py"],
    "category": "architecture"
  },
  {"query": "rates", "relevant": ["shop/tax.py"], "seed": {"path": "x", "line": 1}}
]
"""

PLAIN_CSV = """\
id,query,path,form,grade,cluster
a,how is a basket priced?,shop/price.py::total,human,2,pricing
a,basket price,shop/price.py::total,keyword,2,pricing
a,how is a basket priced?,shop/tax.py:3-9,human,1,pricing
b,"where, in all the code, are rates?",shop/tax.py,,,
"""

PLAIN_JSON = """\
{"id": "a", "query": "how is a basket priced?", "targets": ["shop/price.py::total", "shop/tax.py:3-9"]}
{"id": "a", "query": "basket price", "path": "shop/price.py::total", "form": "keyword", "grade": 2}
{"id": 7, "query": "rates", "path": "shop/tax.py", "cluster": "tax"}
"""

#: format, file name, text, queries it holds
SAMPLES = {
    "karta": ("karta", "gold.yaml", KARTA, 2),
    "karta layers": ("karta", "gold.yaml", KARTA_LAYERS, 1),
    "sia-code": ("sia-code", "gold.json", SIACODE, 2),
    "pyckle json": ("pyckle", "gold.json", PYCKLE_JSON, 2),
    "pyckle python": ("pyckle", "eval_set.py", PYCKLE_PYTHON, 2),
    "pyckle results": ("pyckle", "eval_results.json", PYCKLE_RESULTS, 1),
    "octocode": ("octocode", "gold.csv", OCTOCODE, 2),
    "semble": ("semble", "gold.json", SEMBLE, 2),
    "plain csv": ("plain", "gold.csv", PLAIN_CSV, 2),
    "plain json lines": ("plain", "gold.jsonl", PLAIN_JSON, 2),
}
