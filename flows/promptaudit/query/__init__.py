"""What people ask of published tables: SQL, diagnosis, history, which wording to ship."""
