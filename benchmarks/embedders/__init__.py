"""What embedders cost and what they are worth, beside the static model that ships with Assay."""
