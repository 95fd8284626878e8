"""Tells apart what answers of several files would otherwise share: a sample's id, a model's name at several settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from flows.recorded_runs.formats.answers import Answer, RecordedAnswers
from flows.system.keys import content_id

Read = tuple[Path, RecordedAnswers]
_SHOWN = 80  # characters of a setting in a model's name


def told_apart(files: Sequence[Read]) -> tuple[list[Read], list[str]]:
    """Returns the files with samples and models told apart, and a note for each that had to be."""
    files, notes = _by_settings(files)
    files, more = _by_sample(files)
    return files, [*notes, *more]


def _by_settings(files: Sequence[Read]) -> tuple[list[Read], list[str]]:
    """Returns the files with the settings in the name of each model that was asked at several."""
    settings: dict[str, dict[str, None]] = defaultdict(dict)
    for _, read in files:
        for answer in read.answers:
            settings[answer.model].setdefault(answer.settings or "")
    several = {model for model, of_model in settings.items() if len(of_model) > 1}

    def named(answer: Answer) -> Answer:
        if answer.model not in several or not answer.settings:
            return answer
        return replace(answer, model=f"{answer.model} ({answer.settings[:_SHOWN]})")

    notes = [
        f"model '{model}' answered at {len(settings[model])} settings, which stand in its name and are models of their own"
        for model in sorted(several)
    ]
    return [(path, replace(read, answers=[named(each) for each in read.answers])) for path, read in files], notes


def _by_sample(files: Sequence[Read]) -> tuple[list[Read], list[str]]:
    """Returns the files with one id for each sample: equal contents keep the first id, an id that is taken gets a suffix."""
    ids: dict[tuple[str | None, str], str] = {}
    owners: dict[tuple[str | None, str], tuple[str, Path]] = {}
    renamed: dict[tuple[Path, Path], dict[str, str]] = defaultdict(dict)

    def identified(path: Path, answer: Answer) -> Answer:
        if answer.sample_key is None:
            return answer
        key = (answer.task, answer.sample_key)
        owner, first = owners.setdefault((answer.task, answer.sample_id), (answer.sample_key, path))
        if key not in ids:
            is_taken = owner != answer.sample_key
            ids[key] = f"{answer.sample_id}~{content_id(answer.sample_key)[:8]}" if is_taken else answer.sample_id
            if is_taken:
                renamed[(path, first)][answer.sample_id] = ids[key]
        return answer if ids[key] == answer.sample_id else replace(answer, sample_id=ids[key])

    told = [(path, replace(read, answers=[identified(path, each) for each in read.answers])) for path, read in files]
    notes = []
    for (path, first), of_file in renamed.items():
        theirs, ours = next(iter(of_file.items()))
        notes.append(
            f"{path}: {len(of_file)} samples have ids that other samples of {first} have, and are told apart: "
            f"'{theirs[:60]}' became '{ours[:80]}'"
        )
    return told, notes
