"""Has several processes, the askers, ask a run: each a shard of its cells; the night lands what they are answered.

The folder that they share is the queue: an asker puts segments of its spool there, the lander takes them, and hands out what
each may spend. Prefect, or this machine, starts the askers; `promptaudit.ask.asker` is what they do.
"""
