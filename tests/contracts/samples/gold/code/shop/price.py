"""Prices of a basket."""


class Basket:
    """Lines that a customer wants to buy."""

    def __init__(self):
        self.lines = []

    def add(self, name, price):
        """Put a line into the basket."""
        self.lines.append((name, price))

    def total(self):
        """Sum the prices of all lines."""
        return sum(price for _, price in self.lines)


def discount(amount, share):
    """Take a share off an amount."""
    return amount * (1 - share)
