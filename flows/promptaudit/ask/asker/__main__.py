"""Runs an asker as a process of this machine: `python -m promptaudit.ask.asker AUDIT RUN SHARD SHARDS`."""

from __future__ import annotations

import sys

from promptaudit.ask.asker.ask_shard import ask_shard
from promptaudit.registry.errors import PromptauditError
from promptaudit.system.display.progress import Progress
from promptaudit.system.library_lines import quiet_libraries
from promptaudit.system.settings import registry_of, settings_of, silence


def main() -> int:
    """Asks the shard that the command line names; returns the exit code."""
    silence()
    quiet_libraries()
    audit_id, audit_run_id, shard, n_shards = sys.argv[1:]
    try:
        settings = settings_of()
        ask_shard(
            settings, registry_of(settings), audit_id, audit_run_id, int(shard), int(n_shards), Progress(quiet=True)
        )
    except PromptauditError as error:
        return error.exit_code  # the lander says it
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
