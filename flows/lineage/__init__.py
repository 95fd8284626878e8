"""Where figures come from: columns followed through the dbt project's SQL, and what a lineage tool is told of a run."""
