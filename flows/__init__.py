"""How and when an audit runs: plan, paraphrase, infer, land, validate, transform, report."""
