"""The `hydrolog` command."""

import argparse
import sys

from hydrolog.client import FeedClient
from hydrolog.stations import UnknownStation
from hydrolog.storage import ReadingStore


def build_parser() -> argparse.ArgumentParser:
    """Declare commands and flags."""
    parser = argparse.ArgumentParser(prog="hydrolog")
    commands = parser.add_subparsers(dest="command", required=True)
    poll = commands.add_parser("poll", help="store new readings of every station")
    poll.add_argument("--every", type=int, metavar="SECONDS")
    backfill = commands.add_parser("backfill", help="request missing days")
    backfill.add_argument("--since", metavar="DATE", required=True)
    return parser


def run_poll(client: FeedClient, store: ReadingStore, day: str) -> int:
    """Store the readings of all stations for one day."""
    return sum(store.insert(station.code, client.fetch_readings(station, day)) for station in client.list_stations())


def main(argv: list[str] | None = None) -> int:
    """Run a command and return the exit code."""
    args = build_parser().parse_args(argv)
    try:
        sys.stdout.write(f"{args.command}\n")
    except UnknownStation as error:
        sys.stderr.write(f"hydrolog: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
