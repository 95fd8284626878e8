"""A section of the page: everything about it in one object, which stands in the file of its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptaudit.report.blocks.blocks import DrawnSection
from promptaudit.report.sections.room import Room

if TYPE_CHECKING:
    from promptaudit.report.data import ReportData


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What a section asks of the published copy, how it is filled, and what it finds.

    name: of its file, its anchor on the page, and of its own query where it has one (`queries/<name>.sql`).
    fill: adds its blocks, for each task what there is or why there is nothing; it may say title and intro of one run.
    finding: what the blocks say in a sentence; empty where the figures for it are missing.
    queries: the names of the queries whose rows it reads, as `data["name"]`.
    is_optional: it stands on the page only where it has blocks.
    """

    name: str
    title: str
    intro: str
    fill: Callable[[DrawnSection, ReportData, Room], None]
    finding: Callable[[ReportData], str]
    queries: tuple[str, ...] = ()
    is_optional: bool = False

    def drawn(self, data: ReportData, room: Room | None = None) -> DrawnSection:
        """Returns the section of a run; without blocks where it has none. room: as much as a section has unless it is given."""
        section = DrawnSection(self.name, self.title, self.intro)
        self.fill(section, data, room or Room(data))
        if section.blocks and all(block.is_absent for block in section.blocks):
            section.finding = section.blocks[0].absent[0].rstrip(".")
        elif section.blocks:
            section.finding = self.finding(data)
        return section
