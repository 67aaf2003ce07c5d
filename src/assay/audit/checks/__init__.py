"""The checks of an audit; each module yields the findings on some laws."""
