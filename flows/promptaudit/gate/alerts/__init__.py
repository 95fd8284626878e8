"""Alerts people of what is wrong since a night: alarms on a change of state, one message, sent once, and a heartbeat."""
