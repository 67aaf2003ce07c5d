"""Sockets with a deadline for everything: a byte a second keeps no one waiting longer than the clock says."""

from __future__ import annotations

import io
import queue
import socket
import threading
from typing import Any, cast

from assay.clock import Clock

Addresses = list[tuple[Any, ...]]


class ClockedSocket:
    """What http.client uses of a socket; each operation has the time that is left."""

    def __init__(self, inner: socket.socket, piece_bytes: int) -> None:
        self.inner = inner
        self.clock = Clock(None)
        self._piece_bytes = piece_bytes

    def sendall(self, data: bytes) -> None:
        """Send in pieces: over TLS the time limit of a socket is one for each of them."""
        view = memoryview(data)
        for start in range(0, len(view), self._piece_bytes):
            self.inner.settimeout(self.clock.left())
            self.inner.sendall(view[start : start + self._piece_bytes])

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 (http.client always reads bytes)
        """Give a file to read from; the socket lives until it is closed too."""
        return io.BufferedReader(_ClockedFile(self), self._piece_bytes)

    def close(self) -> None:
        """Close the socket, once nothing reads from it."""
        self.inner.close()


class _ClockedFile(io.RawIOBase):
    """The reading end."""

    def __init__(self, owner: ClockedSocket) -> None:
        super().__init__()
        self._owner = owner
        self._inner = cast(io.RawIOBase, owner.inner.makefile("rb", buffering=0))

    def readable(self) -> bool:
        """Be for reading."""
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 (the base class takes any buffer)
        """Read what is there, or wait for it as long as there is time."""
        self._owner.inner.settimeout(self._owner.clock.left())
        return cast("int | None", self._inner.readinto(buffer))

    def close(self) -> None:
        """Let go of the socket."""
        self._inner.close()
        super().close()


def open_socket(host: str, port: int, clock: Clock) -> socket.socket:
    """Connect to the first address of a host that answers; all of them share the time."""
    problem: OSError = OSError("no address")
    for family, kind, protocol, _, address in _resolve(host, port, clock):
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(clock.left())
            made.connect(address)
            # head and body of a request go out apart; held back, the second would wait for the first one's receipt
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            made.close()
            problem = error
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise problem


def _resolve(host: str, port: int, clock: Clock) -> Addresses:
    """Look a host up in a thread: the resolver knows no deadline, and is left behind when it misses ours."""
    found: queue.SimpleQueue[Addresses | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        """Ask the resolver."""
        try:
            found.put(cast(Addresses, socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except OSError as error:
            found.put(error)
        except ValueError:  # a name that cannot be written for it
            found.put(OSError(0, "no such host"))

    threading.Thread(target=look_up, name="assay-resolver", daemon=True).start()
    try:
        addresses = found.get(timeout=clock.left())
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(addresses, OSError):
        raise addresses
    return addresses
