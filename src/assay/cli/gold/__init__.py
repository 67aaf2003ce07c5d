"""Create and maintain gold sets.

assay gold lint gold.yaml                     what is wrong with a set; --fix repairs what is certain
assay gold mine . --set gold.yaml             propose queries, wrong answers and phrasings
assay gold review gold.yaml --as ann          vote on proposals, settle them, accept them
assay gold split gold.yaml                    dev, test and sealed parts
assay gold reanchor gold.yaml --to HEAD       follow the code from one commit to another

docs/tutorials/write-gold.md goes through all of it on a real repository.
"""
