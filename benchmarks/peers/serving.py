"""Two servers on this machine: the reference engine behind JSON, the shipped model behind OpenAI's embedding API."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from assay.search import Index
from assay.search.static import StaticEmbedder, open_static

Answering = Callable[[Any], object]
#: Seconds between two looks whether to stop.
_POLL = 0.05


@contextmanager
def serving(answer: Answering) -> Iterator[str]:
    """Answer posted JSON with JSON, on any path, until the end of the block; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer(asked)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(_POLL,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def searching() -> Answering:
    """Search a folder; its index is made when it is first named."""
    opened = cache(Index.build)

    def answer(asked: Any) -> object:  # noqa: ANN401  # JSON
        index = opened(asked["root"])
        if "query" not in asked:
            return {"ready": True}
        hits = index.search(asked["query"], asked["k"])
        return {"hits": [{"path": h.path, "start": h.start, "end": h.end, "score": h.score} for h in hits]}

    return answer


def embedding() -> Answering:
    """Embed texts with the shipped model; a question is embedded as code is, for the API does not tell them apart."""
    embedder = StaticEmbedder(open_static())

    def answer(asked: Any) -> object:  # noqa: ANN401  # JSON
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        rows = embedder.embed(texts, "docs")
        packed = asked.get("encoding_format") == "base64"
        told = [base64.b64encode(row.tobytes()).decode() if packed else row.tolist() for row in rows]
        data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(told)]
        tokens = sum(len(text.encode()) for text in texts) // 4
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "model": asked["model"], "data": data, "usage": usage}

    return answer
