"""German messages for the alert mails."""

MELDUNGEN = {
    "watch": "Der Pegelstand an {station} hat die Vorwarnstufe überschritten.",
    "warning": "Hochwasserwarnung für {station}: {level} cm, Tendenz steigend.",
    "emergency": "Katastrophenalarm für {station}! Bitte Überschwemmungsgebiete räumen.",
}


def übersetze(schlüssel: str, **werte: object) -> str:
    """Setze die Werte in die Meldung ein."""
    return MELDUNGEN[schlüssel].format(**werte)