"""One night of an audit: its Prefect flow, its deployments, what follows a run."""
