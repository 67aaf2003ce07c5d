GOLD_DESCRIPTION = """
assay gold lint gold.yaml                     find problems of a set; --fix repairs those with a certain repair
assay gold mine . --set gold.yaml             propose queries, adversaries and phrasings
assay gold review gold.yaml --reviewer ann          vote on proposals, adjudicate and accept them
assay gold split gold.yaml                    split into dev, test and sealed queries
assay gold reanchor gold.yaml --to HEAD       migrate anchors from one commit to another

docs/tutorials/write-gold.md shows all of them on a real repository."""
