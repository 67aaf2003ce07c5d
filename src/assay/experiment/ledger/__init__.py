"""The ledger: every change that was tried, with its evidence and the rule that decided on it; lines are only added."""
