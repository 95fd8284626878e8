"""Puts the two folders that lie inside others, and go elsewhere, into the wheel; a link to a checkout needs neither."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {"dbt/udfs": "promptaudit/udfs", "flows/python/promptaudit": "promptaudit"}


class Folders(BuildHookInterface[Any]):
    """hatchling would place them by the folder around them, since it takes the first rule that fits, by the alphabet."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Names them where a whole wheel is built."""
        if version == "standard":
            build_data["force_include"].update(PLACES)
