"""Small sound data sets that ask about several repositories, written by us: samples to read and to break."""

import json
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "fedcba9876543210fedcba9876543210fedcba98"

PATCH = """\
diff --git a/shop/price.py b/shop/price.py
--- a/shop/price.py
+++ b/shop/price.py
@@ -3,5 +3,5 @@ def total(basket):
 def total(basket):
-    return sum(basket)
-
+    return sum(line.price for line in basket)
+
 # end
 # of file
@@ -20,2 +20,3 @@ def tax(basket):
 def tax(basket):
+    check(basket)
     return 0
diff --git a/shop/new.py b/shop/new.py
new file mode 100644
--- /dev/null
+++ b/shop/new.py
@@ -0,0 +1,1 @@
+NEW = 1
"""
ADDS = """\
diff --git a/shop/rates.py b/shop/rates.py
new file mode 100644
--- /dev/null
+++ b/shop/rates.py
@@ -0,0 +1 @@
+RATES = {}
"""


def lines(entries: list[dict[str, Any]]) -> str:
    """Write one JSON object a line."""
    return "".join(json.dumps(entry) + "\n" for entry in entries)


SWEBENCH: list[dict[str, Any]] = [
    {
        "instance_id": "shop__shop-1",
        "repo": "shop/shop",
        "base_commit": COMMIT,
        "problem_statement": "The sum of a basket is wrong\n\nIt adds lines, not prices.",
        "patch": PATCH,
        "test_patch": PATCH,
        "hints_text": "",
    },
    {
        "instance_id": "shop/shop 2",
        "repo": "shop/shop",
        "base_commit": OTHER,
        "problem_statement": "No check of the basket",
        "patch": PATCH,
    },
    {
        "instance_id": "shop__shop-3",
        "repo": "shop/shop",
        "base_commit": COMMIT,
        "problem_statement": "There are no rates",
        "patch": ADDS,
    },
]

CONTEXTBENCH: list[dict[str, Any]] = [
    {
        "instance_id": "Verified__python__1",
        "original_inst_id": "shop__shop-1",
        "repo": "shop/shop",
        "language": "python",
        "base_commit": COMMIT,
        "gold_context": json.dumps(
            [
                {"file": "shop/price.py", "start_line": 1, "end_line": 9, "content": "..."},
                {"file": "shop/tax.py", "start_line": 3, "end_line": 3, "content": "..."},
                {"file": "shop/tax.py", "start_line": 3, "end_line": 3, "content": "..."},
            ]
        ),
        "problem_statement": "The sum is wrong",
        "patch": PATCH,
    },
    {
        "instance_id": "Multi__go__2",
        "original_inst_id": "owner__till-77",
        "repo": "till",
        "language": "go",
        "base_commit": OTHER,
        "gold_context": [
            {"file": "/workspace/owner__till__0.1/cmd/till.go", "start_line": 2, "end_line": 4},
            {"file": "/workspace/scratch_test.go", "start_line": 1, "end_line": 4},
        ],
        "problem_statement": "The till stays shut",
    },
    {
        "instance_id": "Pro__python__3",
        "repo": "shop/shop",
        "base_commit": COMMIT,
        "gold_context": "context0：\nfile: shop/price.py\nstart_line: 5\nend_line: 6\n    x = 1\n"
        "\ncontext1：\nfile: shop/tax.py\nstart_line: 1\nend_line: 2\n    y = 1\n",
        "problem_statement": "The tax is wrong",
    },
]

REPOEVAL: list[dict[str, Any]] = [
    {
        "prompt": "import shop\n\n\ndef total(basket):",
        "metadata": {
            "task_id": "owner--shop/idx",
            "ground_truth": "    prices = [line.price for line in basket]\n    return sum(prices)\n",
            "fpath_tuple": ["owner_shop", "shop", "price.py"],
            "context_start_lineno": 0,
            "lineno": 4,
            "function_name": "total",
        },
    },
    {
        "prompt": "RATES = {\n",
        "metadata": {
            "task_id": "owner--shop/idx",
            "ground_truth": '    "a": 1,',
            "fpath_tuple": ["owner_shop", "rates.py"],
            "line_no": 1,
        },
    },
    {
        "prompt": "x = 1\ny = ",
        "metadata": {"task_id": "till/0", "ground_truth": "2", "fpath_tuple": ["till", "a.py"], "line_no": 1},
    },
]

CROSSCODEEVAL: list[dict[str, Any]] = [
    {
        "prompt": "from shop import basket\n\nprint(basket.",
        "groundtruth": "total())",
        "right_context": "\n",
        "metadata": {
            "task_id": "project_cc_python/62",
            "repository": "owner-shop-a544085",
            "file": "run.py",
            "context_start_lineno": 0,
            "groundtruth_start_lineno": 2,
            "right_context_start_lineno": 3,
        },
        "crossfile_context": {
            "text": "# shop.py",
            "list": [{"retrieved_chunk": "def total(): ...", "filename": "shop/basket.py", "score": 0.5}],
        },
    },
    {
        "prompt": "import till\ntill.",
        "groundtruth": "open(\n  1)",
        "right_context": "",
        "metadata": {
            "task_id": "project_cc_python/63",
            "repository": "owner-till-1234567",
            "file": "src/main.py",
            "context_start_lineno": 10,
            "groundtruth_start_lineno": 11,
            "right_context_start_lineno": 13,
        },
    },
]

URL = f"https://github.com/owner/shop/blob/{COMMIT}/shop"
CODESEARCHNET = f"""\
Language,Query,GitHubUrl,Relevance,Notes
Python,sum of a basket,{URL}/price.py#L3-L9,3,
Python,sum of a basket,{URL}/price.py#L3-L9,1,odd
Python,sum of a basket,{URL}/tax.py#L1-L2,1,
Python,sum of a basket,{URL}/a%20b.py#L1-L2,0,
Python,"rates, all of them",{URL}/price.py#L3-L9,1,
Go,sum of a basket,https://github.com/owner/till/blob/{OTHER}/till.go#L7,2,
Go,open the till,https://github.com/owner/till/blob/{OTHER}/till.go#L1-L5,0,
"""

#: format, file name, text, queries it asks
DATA_SETS = {
    "swe-bench": ("gold.jsonl", lines(SWEBENCH), 3),
    "contextbench": ("gold.jsonl", lines(CONTEXTBENCH), 3),
    "repoeval": ("gold.jsonl", lines(REPOEVAL), 3),
    "crosscodeeval": ("gold.jsonl", lines(CROSSCODEEVAL), 2),
    "codesearchnet": ("gold.csv", CODESEARCHNET, 4),
}
