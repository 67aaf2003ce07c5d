"""How a report is shown: blocks, and what renders them on a terminal, as Markdown and as HTML."""
