"""Has several processes, the askers, ask a run: each a shard of its cells; the night lands what they are answered.

The shared folder is the queue: an asker puts segments of its spool there, the lander lands them and writes how much
each asker may spend. Prefect, or this machine, starts the askers; their code is `promptaudit.ask.asker`.
"""
