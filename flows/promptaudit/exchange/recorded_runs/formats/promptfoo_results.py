"""Reads what `promptfoo eval -o out.json` writes: a result for each test, prompt and provider.

An assertion `equals` says what is right. Others (`contains`, `regex`, `llm-rubric`, …) judge the answer alone, and
become its score. Where some tests have no `equals`, the task is no choice among the values of the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptaudit.exchange.recorded_runs.formats.answers import (
    Answer,
    RecordedAnswers,
    Texts,
    number_of,
    text_of,
    whole_of,
)
from promptaudit.exchange.recorded_runs.formats.source import json_file
from promptaudit.registry.errors import DataError
from promptaudit.registry.read_csv import MAX_COLUMNS
from promptaudit.registry.tables import MAX_TEXT
from promptaudit.system.keys import as_json

PROGRAM = "promptfoo"
_PLACEHOLDER = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")
_FAILED = 2  # the failureReason of a test that could not be graded


def is_of_promptfoo(head: bytes) -> bool:
    """Checks whether a JSON document begins as promptfoo's results do."""
    is_one = b'"evalId"' in head or b'"gradingResult"' in head  # versions of 2023 and 2024 wrote no evalId
    return head.lstrip().startswith(b"{") and is_one and b'"results"' in head


def as_recorded(path: Path) -> RecordedAnswers:
    """Reads the answers of a file. Each prompt is a variant, equal variables are one sample, each provider a model."""
    document = json_file(path)
    summary = document.get("results") if isinstance(document, dict) else None
    if not isinstance(summary, dict) or not isinstance(summary.get("results"), list):
        msg = (
            f"{path}: no list results.results, so it is not what `promptfoo eval -o` writes (version 3 of its results)"
        )
        raise DataError(msg)
    results: list[Any] = summary["results"]
    config = document.get("config")
    task = (text_of(config.get("description")) if isinstance(config, dict) else None) or path.stem
    templates = {
        str(each.get("id")): str(each.get("raw")) for each in summary.get("prompts") or [] if isinstance(each, dict)
    }
    samples: dict[str, str] = {}
    columns: dict[tuple[str, str], dict[str, int]] = {}
    given, answers, n_errors = Texts(path), list[Answer](), 0
    for number, result in enumerate(results, start=1):
        answer = _answer(f"{path} row {number}", result, task, samples, columns, templates)
        n_errors += answer.completion is None
        answers += given.take([answer])
    if any(not each.references and each.completion is not None for each in answers):
        answers = [replace(each, gold_label=None) for each in answers]
    notes = (f"{path}: {n_errors} results are errors and have no answer",) if n_errors else ()
    return RecordedAnswers(program=PROGRAM, answers=answers, task=task, notes=notes)


def _provider_of(result: Mapping[str, Any], label: str, columns: dict[tuple[str, str], dict[str, int]]) -> str | None:
    # providers may share a name: each prompt then has a column for each of them, and the later ones get a number
    known = columns.setdefault((label, str(result.get("promptId"))), {})
    number = known.setdefault(str(result.get("promptIdx")), len(known) + 1)
    return f"provider {number}" if number > 1 else None


def _answer(
    place: str,
    result: Any,  # noqa: ANN401 - whatever the list holds
    task: str,
    samples: dict[str, str],
    columns: dict[tuple[str, str], dict[str, int]],
    templates: Mapping[str, str],
) -> Answer:
    try:
        provider, prompt = result["provider"], result["prompt"]
        variables = {str(name): value for name, value in (result.get("vars") or {}).items()}
        key = as_json(variables)
        sample_id = samples.setdefault(key, str(result.get("testIdx", len(samples))))
        response = result.get("response") or {}
        usage = response.get("tokenUsage") or {}
        texts = {name: text_of(value) or "" for name, value in variables.items()}
        assertions = _assertions(result)
        golds = _golds(assertions, texts)
        label = (
            (text_of(provider.get("label")) or text_of(provider.get("id"))) if isinstance(provider, dict) else provider
        )
        said = text_of(response.get("output"))
        sent = text_of(prompt["raw"]) or ""
        used = [text for text in list(texts.values())[:MAX_COLUMNS] if text and text in sent]
        is_ruled = said is not None and assertions != [] and result.get("failureReason") != _FAILED
        return Answer(
            place=place,
            model=label or "",
            task=task,
            sample_id=sample_id,
            sample_key=key,
            completion=said,
            settings=_provider_of(result, label or "", columns),
            prompt=sent,
            fields=texts,
            instruction=templates.get(str(result.get("promptId"))) or text_of(prompt.get("label")) or _display(prompt),
            gold_label=golds[0] if len(golds) == 1 else None,
            references=golds,
            input=max(used, key=len, default=sent),
            score=number_of(result.get("success")) if is_ruled else None,
            prompt_tokens=whole_of(usage.get("prompt")),
            completion_tokens=whole_of(usage.get("completion")),
            cost_usd=number_of(response.get("cost", result.get("cost"))),
            latency_ms=number_of(result.get("latencyMs")),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        msg = f"{place}: not a result of promptfoo: {type(error).__name__} {str(error)[:80]}"
        raise DataError(msg) from None


def _display(prompt: Mapping[str, Any]) -> str | None:
    # what the results of 2023 call a prompt: its template, or a name
    display = text_of(prompt.get("display"))
    return display if display != prompt["raw"] else None


def _assertions(result: Mapping[str, Any]) -> list[Any] | None:
    test, grading = result.get("testCase"), result.get("gradingResult")
    graded = [each.get("assertion") for each in (grading or {}).get("componentResults") or [] if isinstance(each, dict)]
    asserted = (test or {}).get("assert") or graded
    return None if not asserted and test is None and grading is None else list(asserted)


def _golds(assertions: list[Any] | None, variables: Mapping[str, str]) -> list[str]:
    values = []
    for assertion in assertions or []:
        if isinstance(assertion, dict) and assertion.get("type") == "equals" and assertion.get("value") is not None:
            value = text_of(assertion["value"]) or ""
            put_in = [match[1] for match in _PLACEHOLDER.finditer(value)]
            if sum(len(variables.get(name, "")) for name in put_in) > MAX_TEXT:
                msg = f"assert: a value of more than {MAX_TEXT:,} characters"
                raise ValueError(msg)
            values.append(_PLACEHOLDER.sub(lambda match: variables.get(match[1], match[0]), value))
    return values
