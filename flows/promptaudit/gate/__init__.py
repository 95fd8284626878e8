"""The gate: holds a run against the rules of its audit's card, says what came of it, and keeps what people accept."""
