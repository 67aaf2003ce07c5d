"""How an experiment is carried out: engines that take turns, or cells that are asked side by side."""
