import pytest

from hydrolog.readings import MISSING, MalformedReading, Reading, drop_missing, parse_reading


def test_meters_become_centimeters():
    assert parse_reading("2024-03-01T06:00Z 4.12 m").level == pytest.approx(412.0)


def test_malformed_line_is_an_error():
    with pytest.raises(MalformedReading):
        parse_reading("no level here")


def test_missing_value_marker_is_dropped():
    good = parse_reading("2024-03-01T06:00Z 412 cm")
    assert drop_missing([good, Reading(good.time, MISSING)]) == [good]
