"""The drawer of a till."""


def open_drawer(till):
    """Unlock the drawer."""
    till.locked = False
    return till
