"""Where figures come from: columns followed through the dbt project's SQL, and a run's events for a lineage tool."""
