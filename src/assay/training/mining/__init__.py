"""From a folder of git repositories to pairs of a text and the code it speaks of."""
