"""Answers that come from elsewhere or go there: imports, people's sheets, citations."""
