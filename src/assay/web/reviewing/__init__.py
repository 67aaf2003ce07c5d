"""Gold review in the browser: several reviewers, each blind to the others, at the desk of one gold file."""

from assay.web.reviewing.routes import review_routes

__all__ = ["review_routes"]
