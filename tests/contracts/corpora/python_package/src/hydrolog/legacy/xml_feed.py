"""The XML feed that the authority switched off in 2023; kept for archived files."""

from xml.etree import ElementTree

from hydrolog.readings import Reading, parse_reading


def parse_xml_feed(text: str) -> list[Reading]:
    """Parse readings from an archived XML document."""
    root = ElementTree.fromstring(text)
    return [parse_reading(f"{node.get('time')} {node.text}") for node in root.iter("reading")]
