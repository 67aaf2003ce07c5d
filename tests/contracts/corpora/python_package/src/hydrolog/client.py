"""The HTTP client of the water authority's feed."""

import json

import httpx

from hydrolog.readings import Reading, parse_feed
from hydrolog.retry import call_with_retry
from hydrolog.stations import Station

USER_AGENT = "hydrolog/2.4"


class FeedError(RuntimeError):
    """The feed answered, but not with readings."""


class FeedClient:
    """Downloads readings; one connection pool for all stations."""

    def __init__(self, base_url: str, token: str | None = None, timeout: float = 10.0) -> None:
        headers = {"User-Agent": USER_AGENT}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=timeout)

    def fetch_readings(self, station: Station, day: str) -> list[Reading]:
        """Download the readings of one station and day."""
        response = call_with_retry(lambda: self._http.get(f"/stations/{station.code}/{day}"))
        if response.status_code == 404:
            return []
        if response.status_code != 200:
            raise FeedError(f"unexpected status {response.status_code} for station {station.code}")
        return parse_feed(response.text)

    def list_stations(self) -> list[Station]:
        """Ask which stations the authority publishes."""
        payload = json.loads(self._http.get("/stations").text)
        return [Station(item["code"], item.get("river", ""), float(item.get("datum", 0))) for item in payload]

    def close(self) -> None:
        """Close the connection pool."""
        self._http.close()
