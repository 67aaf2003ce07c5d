"""How the shipped embedding is made: pairs of a text and the code it speaks of, and what is learned from them."""
