"""What `import promptaudit` gives: audits, their figures as polars frames, the measures as functions."""
