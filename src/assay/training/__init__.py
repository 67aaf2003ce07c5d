"""Train embedding models on pairs of a text and the code it describes."""
