"""Puts the code of two folders that lie inside others, and go elsewhere, into the wheel; a link to a checkout needs neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {"flows/promptaudit/udfs": "promptaudit/udfs", "flows/promptaudit/python": "promptaudit"}


class Folders(BuildHookInterface[Any]):
    """hatchling would place them by the folder around them, since it takes the first rule that fits, by the alphabet."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Names their files where a whole wheel is built: of a folder, what git ignores would go in as well."""
        if version == "standard":
            for folder, place in PLACES.items():
                top = Path(self.root, folder)
                for file in (*top.rglob("*.py"), *top.rglob("py.typed")):
                    build_data["force_include"][str(file)] = f"{place}/{file.relative_to(top).as_posix()}"
