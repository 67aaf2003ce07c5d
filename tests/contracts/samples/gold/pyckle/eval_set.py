"""Questions from our shell history."""

import os

EVAL_SET = [
    {
        "query": "where is the basket priced",
        "expected": "shop/price.py",
    },
    # the second
    {"query": "how are rates read", "expected": ("shop/tax.py::tax_rate", "shop/tax.py:3-3")},
]

if __name__ == "__main__":
    print(len(EVAL_SET), os.sep)
