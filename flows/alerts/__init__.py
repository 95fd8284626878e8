"""Tells people what a night found: alarms on a change of state, one message, sent once, and a heartbeat."""
