"""One night of an audit: its Prefect flow, its steps, and the deployments that schedule it."""
