"""Lays out the package of a checkout as an installation has it, by links: mypy and import-linter look where a module's name says.

python tests/support/package_tree.py .venv/tree
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def lay_out(tree: Path, root: Path) -> None:
    """Makes a folder that holds `promptaudit` of the checkout at `root`; one that is there is made anew."""
    shutil.rmtree(tree, ignore_errors=True)
    door = root / "flows" / "python" / "promptaudit"
    places = {"models_registry": root / "models_registry", "udfs": root / "dbt" / "udfs"}
    places |= {path.name: path for path in door.iterdir()}
    places |= {f"flows/{path.name}": path for path in (root / "flows").iterdir() if path != door.parent}
    for name, path in places.items():
        if path.name != "__pycache__":
            link = tree / "promptaudit" / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.resolve())


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]), Path(__file__).parents[2])
