"""Print the readings of a week as a bar chart of characters."""

from hydrolog.readings import parse_feed


def plot(text: str, width: int = 60) -> str:
    """Draw one bar per reading."""
    readings = parse_feed(text)
    highest = max(reading.level for reading in readings)
    return "\n".join("#" * int(width * reading.level / highest) for reading in readings)
