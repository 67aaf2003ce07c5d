"""Engines that fork, flood, hang, lie, change the corpus and look for the gold set."""

from __future__ import annotations

import json
import os
import sys
import time

import pytest

from tests.attacks.outside import Attack, World, marked, tree

ENGINES = {
    "forks": "import subprocess\nfor n in range(30): subprocess.Popen(['sleep', '1000'])\nprint('shop/cart.py')",
    "daemons": "import os\nfor n in range(10):\n  if not os.fork():\n    os.setsid()\n    if not os.fork():\n"
    "      time.sleep(1000)\n    os._exit(0)\nprint('shop/cart.py')",
    "flood": "while True: print('shop/cart.py' * 1000)",
    "flood stderr": "while True: print('x' * 10000, file=sys.stderr)",
    "flood one line": "while True: sys.stdout.write('x' * 100000)",
    "hang": "time.sleep(1000)",
    "hang after answer": "print('shop/cart.py', flush=True); os.close(1); time.sleep(1000)",
    "ignores signals": "import signal\nfor s in (2, 15, 1): signal.signal(s, signal.SIG_IGN)\ntime.sleep(1000)",
    "stopped": "os.kill(os.getpid(), 19)",
    "NaN": "print('[{\"path\": \"shop/cart.py\", \"score\": NaN}, {\"path\": \"shop/tax.py\", \"score\": Infinity}]')",
    "large numbers": "print('[{\"path\": \"shop/cart.py\", \"start\": ' + '9' * 5000 + ', \"score\": 1e999}]')",
    "negative lines": "print('[{\"path\": \"shop/cart.py\", \"start\": -5, \"end\": -9}]')",
    "deep JSON": "print('[' * 100000)",
    "escapes": "print('../../../../etc/passwd'); print('/etc/passwd')",
    "many results": "print('\\n'.join(f'shop/cart.py:{n}' for n in range(300000)))",
    "binary": "sys.stdout.buffer.write(bytes(range(256)) * 1000)",
    "crash": "os.abort()",
    "exit 255": "sys.exit(255)",
    "changes the corpus": "open('shop/cart.py', 'a').write('# changed'); os.remove('shop/tax.py'); print('shop/cart.py')",
    "looks for gold": "import pathlib\nhere = pathlib.Path.cwd()\nfound = []\nfor top in (here, *list(here.parents)[:2]):\n"
    "  for place in top.glob('*'):\n    with contextlib.suppress(OSError):\n"
    "      if place.is_file() and b'cart-total' in place.read_bytes(): found.append(str(place))\n"
    "print('found ' + ' '.join(found) if found else 'shop/cart.py')",
    "memory": "x = []\nfor n in range(20): x.append(bytearray(20_000_000))\nprint('shop/cart.py')",
    "writes files": "open('junk', 'wb').write(b'x' * 50_000_000); print('shop/cart.py')",
    "link": "os.symlink('/etc', 'etc'); print('etc/passwd')",
    "closes stdin and stdout": "os.close(0); os.close(1); time.sleep(1)",
}  # fmt: skip


@pytest.mark.parametrize("name", ENGINES)
def test_engine(world: World, attack: Attack, name: str) -> None:
    tool = world.base / "tool.py"
    tool.write_text(f"import contextlib, json, os, sys, time\n{ENGINES[name]}\n")
    before = tree(world.repo)
    mark = f"ASSAY_ATTACK_{os.getpid()}_{time.monotonic_ns()}"
    done = world.assay(
        "run", "--gold", "gold.yaml", "--engine", f"mine=command:{sys.executable} {tool} {{query}}", "--engine", "keywords",
        "-q", "--timeout", "3", "--no-times", env=world.env(MARK=mark), timeout=300,
    )  # fmt: skip
    attack.expect(done.sound, f"{name} {done}")
    attack.expect(done.seconds < 60, f"{name} took {done.seconds:.0f} s")
    attack.expect(not marked(mark), f"{name} left {marked(mark)}")
    changed = {key: data for key, data in tree(world.repo).items() if not key.startswith("results")}
    attack.expect(changed == before, f"{name} changed {set(changed) ^ set(before)}")
    scores = world.repo / "results" / "results.json"
    if done.code == 0:
        text = scores.read_text()
        attack.expect(
            "NaN" not in text and "Infinity" not in text and "cart-total" in (world.repo / "gold.yaml").read_text(),
            text,
        )
        attack.expect(json.loads(text), text)
    attack.expect("found /" not in done.out + done.err, done)
