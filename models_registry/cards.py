"""The cards: frozen, every field described, unknown keys refused.

A card is data, never code: it holds no interpreter, no command and no raw engine argument.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import re2
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from models_registry.placeholders import placeholders

Level = Literal["nominal", "ordinal", "interval"]
Policy = Literal["fail", "quarantine", "warn"]
Rate = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[Name, ...], BeforeValidator(_listed)]


class Card(BaseModel):
    """What every card shares."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, str_max_length=100_000)

    def canonical_json(self) -> str:
        """The card as one line of JSON: set fields only, keys sorted, so that equal cards are equal text."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True), sort_keys=True, ensure_ascii=False)

    def fingerprint(self) -> str:
        """The first 16 hex digits of the sha256 of `canonical_json`."""
        return hashlib.sha256(self.canonical_json().encode("utf-8", "backslashreplace")).hexdigest()[:16]


# ---------------------------------------------------------------- models
class Sampling(Card):
    """How the model draws its answer; sent as written, nothing sent that is not written."""

    temperature: float | None = Field(None, ge=0, le=10, description="sampling temperature")
    top_p: float | None = Field(None, gt=0, le=1, description="nucleus sampling")
    seed: int | None = Field(
        None, description="the provider's seed, plus the repetition less 1, so that repetitions are different draws"
    )
    max_tokens: int | None = Field(None, ge=1, description="cap on the completion's tokens")
    stop: tuple[str, ...] | None = Field(None, description="strings that end the completion")


class Limits(Card):
    """What the other side bears."""

    max_connections: int = Field(16, ge=1, le=4096, description="requests in flight at once")
    requests_per_minute: int | None = Field(None, ge=1, description="requests a minute")
    tokens_per_minute: int | None = Field(None, ge=1, description="tokens a minute")
    timeout_s: float = Field(60, gt=0, description="seconds until a request is given up and asked again")
    max_attempts: int = Field(6, ge=1, le=100, description="tries of one request before its cell is left missing")


class Price(Card):
    """US dollars a million tokens; 0 for one's own machines."""

    input_usd_per_mtok: float = Field(ge=0, description="prompt tokens")
    output_usd_per_mtok: float = Field(ge=0, description="completion tokens")


def _price(value: object) -> object:
    return {"input_usd_per_mtok": 0, "output_usd_per_mtok": 0} if value == "free" else value


class SimulatedAnswers(Card):
    """What the `simulated` annotator draws from: one distribution a sample, independent draws a cell."""

    distributions: tuple[dict[str, float], ...] = Field(
        min_length=1, description="label to probability; what is missing to 1 is an invalid answer"
    )
    samples: dict[str, int] | None = Field(
        None, description="sample id to the index of its distribution; default: by a hash of the id"
    )

    @model_validator(mode="after")
    def _indexes(self) -> Self:
        for sample, index in (self.samples or {}).items():
            if not 0 <= index < len(self.distributions):
                msg = f"samples: {sample!r} names distribution {index} of {len(self.distributions)}, counted from 0"
                raise ValueError(msg)
        return self

    @field_validator("distributions")
    @classmethod
    def _sums(cls, value: tuple[dict[str, float], ...]) -> tuple[dict[str, float], ...]:
        for index, distribution in enumerate(value):
            if any(p < 0 for p in distribution.values()) or sum(distribution.values()) > 1 + 1e-9:
                msg = f"distribution {index} has a negative probability or sums to more than 1"
                raise ValueError(msg)
        return value


class ModelCard(Card):
    """A model that can be asked."""

    engine: Literal["openai_api", "recorded", "embedded"] = Field(description="what executes it")
    model: Name = Field(description="the engine's name of it; embedded: lexical, random, simulated, noisy")
    base_url: Names = Field((), description="one or several endpoints; default: OPENAI_BASE_URL")
    api_key_env: str | None = Field(
        None, pattern=r"^[A-Z_][A-Z0-9_]*$", description="variable that holds the key; default: OPENAI_API_KEY"
    )
    sampling: Sampling = Field(default_factory=Sampling, description="how the answer is drawn")
    limits: Limits = Field(default_factory=Limits, description="what the other side bears")
    price: Annotated[Price | None, BeforeValidator(_price)] = Field(None, description="default: the price library")
    path: str | None = Field(None, description="recorded: the file of answers, inside the registry")
    simulated: SimulatedAnswers | None = Field(None, description="simulated: what is drawn from")
    of: Name | None = Field(None, description="noisy: the model card whose landed answers are perturbed")
    rate: Rate | None = Field(None, description="noisy: the share of answers replaced by another label")
    seed: int = Field(0, description="embedded: seed of its draws")

    @field_validator("base_url")
    @classmethod
    def _no_credentials(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for url in value:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                msg = "an http or https address with a host is wanted"
                raise ValueError(msg)
            if parts.username or parts.password or parts.query or parts.fragment:
                msg = "an address with credentials or a query would land with the card; name the key's variable instead"
                raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _fits_engine(self) -> Self:
        wanted = {"path": self.engine == "recorded"}
        embedded = self.engine == "embedded"
        if embedded and self.model not in ("lexical", "random", "simulated", "noisy"):
            msg = f"model '{self.model}' is no embedded annotator; known: lexical, noisy, random, simulated"
            raise ValueError(msg)
        wanted["simulated"] = embedded and self.model == "simulated"
        wanted["of"] = wanted["rate"] = embedded and self.model == "noisy"
        for field, is_wanted in wanted.items():
            if is_wanted != (getattr(self, field) is not None):
                msg = f"{field} {'is needed by' if is_wanted else 'has no meaning for'} {self.engine} {self.model}"
                raise ValueError(msg)
        return self


# ---------------------------------------------------------------- tasks
class RegexReader(Card):
    """The first group of the first match (the whole match without a group), in RE2 syntax."""

    regex: str = Field(max_length=1000, description="RE2 pattern")

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str) -> str:
        options = re2.Options()
        options.log_errors = False
        try:
            re2.compile(value, options)
        except re2.error as error:
            msg = f"not an RE2 pattern: {error}"
            raise ValueError(msg) from None
        return value


class JsonFieldReader(Card):
    """A field of the JSON object that the completion is; dots go deeper."""

    json_field: str = Field(min_length=1, max_length=200, description="name of the field, a.b for b inside a")


Reader = Literal["exact", "first_integer", "label_in_text"] | RegexReader | JsonFieldReader


class Message(Card):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant", "developer"] = Field(description="who speaks")
    content: str = Field(description="text with {placeholders}")


DEFAULT_MESSAGES = (Message(role="user", content="{instruction} {output_format}\n\n{input}"),)


class Data(Card):
    """Where samples come from: a file of the registry or a Hugging Face dataset (extra `datasets`)."""

    path: str | None = Field(None, description="CSV, JSONL or Parquet, relative to the registry")
    hub: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)?$", description="name of a Hugging Face dataset"
    )
    config: str | None = Field(None, description="hub: its configuration")
    split: str = Field("test", description="hub: its split")
    revision: str | None = Field(None, description="hub: branch, tag or commit")
    id: str | None = Field(None, description="column of the sample's id; default: the row's number from 0")
    input: str = Field("input", description="column of the text put for {input}")
    gold_label: str | None = Field(None, description="column of the gold label")
    gold_labels: dict[str, str] | None = Field(None, description="renames what the gold column holds to labels")
    rows: int | None = Field(None, ge=1, description="how many rows there are, for data that does not ship")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.path is not None and "\x00" in self.path:
            msg = "a path holds no NUL"
            raise ValueError(msg)
        if (self.path is None) == (self.hub is None):
            msg = "data needs either path or hub"
            raise ValueError(msg)
        return self


def _labels(value: object) -> object:
    if isinstance(value, dict):
        return tuple({"label": label, "description": text} for label, text in value.items())
    if isinstance(value, list | tuple):
        return tuple(item if isinstance(item, dict | TaskLabel) else {"label": item} for item in value)
    return value


class TaskLabel(Card):
    """One label of a closed set."""

    label: str = Field(min_length=1, max_length=1000, description="as the model must write it")
    description: str | None = Field(None, description="what it covers; the strategy `detail` shows it")

    @field_validator("label")
    @classmethod
    def _trimmed(cls, value: str) -> str:
        if value != value.strip():
            msg = f"label {value!r} begins or ends with white space, so no trimmed answer can equal it"
            raise ValueError(msg)
        return value


class TaskCard(Card):
    """A question put to every sample."""

    kind: Literal["classification"] = Field("classification", description="a closed label set")
    level: Level = Field("nominal", description="what the labels are to each other")
    labels: Annotated[tuple[TaskLabel, ...], BeforeValidator(_labels)] = Field(
        description="the closed set, in order: a list, or a mapping of label to description"
    )
    instruction: str = Field(min_length=1, description="the part of the prompt that is rephrased")
    output_format: str = Field("", description="how to answer; never rephrased")
    messages: tuple[Message, ...] = Field(DEFAULT_MESSAGES, min_length=1, description="the prompt")
    reader: Reader = Field("exact", description="turns a completion into a label")
    refusal_pattern: str | None = Field(
        None, max_length=1000, description="RE2: an unread completion it matches is refused"
    )
    examples: dict[str, str] | None = Field(
        None, description="one_shot: an example input a label; default: rows of the data kept out of the samples"
    )
    protected: tuple[str, ...] = Field((), description="words a rephrasing must keep, beside labels and placeholders")
    data: Data = Field(description="where the samples come from")

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        names = self.label_names
        if len(names) < 2:  # noqa: PLR2004 - one label is no question
            msg = f"labels needs at least two, found {len(names)}"
            raise ValueError(msg)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            msg = f"label {twice[0]!r} stands twice"
            raise ValueError(msg)
        if self.level == "interval":
            for name in names:
                if not is_number(name):
                    msg = f"label {name!r} of an interval task is no number"
                    raise ValueError(msg)
        if not any("input" in placeholders(message.content) for message in self.messages):
            msg = "messages never use {input}"
            raise ValueError(msg)
        if not any("instruction" in placeholders(message.content) for message in self.messages):
            msg = "messages never use {instruction}, so nothing can be rephrased"
            raise ValueError(msg)
        if self.examples is not None and set(self.examples) != set(names):
            msg = f"examples needs one input a label; differs at {sorted(set(self.examples) ^ set(names))}"
            raise ValueError(msg)
        if self.refusal_pattern is not None:
            RegexReader(regex=self.refusal_pattern)
        return self

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels alone, in the card's order."""
        return tuple(item.label for item in self.labels)


def is_number(text: str) -> bool:
    """Whether the text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# ---------------------------------------------------------------- rephrasers, judges
class RephraserCard(Card):
    """What rewords an instruction."""

    kind: Literal["rules", "model", "fixed"] = Field(description="how it rewords")
    seed: int = Field(0, description="rules: seed of its choices")
    model: Name | None = Field(None, description="model: the model card that is asked")
    instructions: str | None = Field(None, description="model: what it is told, with {instruction} and {n}")
    variants: dict[Name, tuple[str, ...]] | None = Field(None, description="fixed: task id to its rephrasings")
    max_rounds: int = Field(3, ge=1, le=20, description="model: how often missing rephrasings are asked for again")

    @model_validator(mode="after")
    def _fits_kind(self) -> Self:
        if (self.kind == "model") != (self.model is not None):
            msg = "model is what a rephraser of kind model asks, and no other"
            raise ValueError(msg)
        if (self.kind == "fixed") != (self.variants is not None):
            msg = "variants is what a rephraser of kind fixed lists, and no other"
            raise ValueError(msg)
        if self.instructions is not None and not {"instruction", "n"} <= set(placeholders(self.instructions)):
            msg = "instructions must use {instruction} and {n}"
            raise ValueError(msg)
        return self


class JudgeCard(Card):
    """A model that rules on completions."""

    model: Name = Field(description="the model card that judges")
    rubric: str = Field(min_length=1, description="what it is told")
    repetitions: int = Field(1, ge=1, description="how often each completion is judged")


# ---------------------------------------------------------------- audits
class Rephrasing(Card):
    """How many wordings are made, by whom."""

    rephraser: Name = Field(description="a rephraser card")
    variants: int | None = Field(None, ge=1, le=10_000, description="wordings, the original among them")
    temperatures: tuple[Annotated[float, Field(ge=0, le=100)], ...] | None = Field(
        None, description="paraphrase temperatures"
    )
    variants_per_temperature: int | None = Field(None, ge=1, le=10_000, description="wordings added to the original")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        swept = self.temperatures is not None
        if swept != (self.variants_per_temperature is not None) or swept == (self.variants is not None):
            msg = "rephrasing needs either variants, or temperatures with variants_per_temperature"
            raise ValueError(msg)
        if self.temperatures is not None and len(set(self.temperatures)) != len(self.temperatures):
            msg = "a temperature stands twice"
            raise ValueError(msg)
        return self


class Repetitions(Card):
    """How often each wording is asked."""

    original: int = Field(10, ge=1, le=10_000, description="the original wording")
    variants: int = Field(2, ge=1, le=10_000, description="each rephrasing; 2 separates wording from noise")


class Samples(Card):
    """Which rows are asked."""

    limit: int | None = Field(None, ge=1, description="at most so many; default: all")
    seed: int = Field(42, description="seed of the hash that orders the rows")
    balanced: bool = Field(default=True, description="the same number of every gold label, as far as they reach")


class FormatLimits(Card):
    """What a variant's answers must keep to, checked before anything is aggregated."""

    max_invalid_rate: Rate = Field(0.1, description="share of landed answers that are not valid")
    max_empty_rate: Rate = Field(1.0, description="share of landed answers that are blank")
    max_error_rate: Rate = Field(0.1, description="share of planned cells that ended in an error")
    max_distinct_completions: int | None = Field(None, ge=1, description="distinct completions a variant may have")
    policy: Policy = Field("quarantine", description="fail, quarantine or warn")


class Budget(Card):
    """Where a run stops."""

    max_usd: float | None = Field(None, ge=0, description="US dollars")
    max_requests: int | None = Field(None, ge=0, description="requests")


class AuditCard(Card):
    """A design: tasks × models × strategies × wordings × repetitions."""

    tasks: Names = Field(min_length=1, description="task cards")
    models: Names = Field(min_length=1, description="model cards")
    strategies: Annotated[tuple[Literal["simple", "detail", "one_shot"], ...], BeforeValidator(_listed)] = Field(
        ("simple",), min_length=1, description="how the instruction is dressed"
    )
    rephrasing: Rephrasing | None = Field(None, description="default: the original wording alone")
    repetitions: Repetitions = Field(default_factory=Repetitions, description="how often each wording is asked")
    samples: Samples = Field(default_factory=Samples, description="which rows are asked")
    format: FormatLimits = Field(default_factory=FormatLimits, description="limits on the answers' format")
    judges: Names = Field((), description="judge cards")
    budget: Budget = Field(default_factory=Budget, description="where a run stops")
    gate: tuple[str, ...] = Field((), description="conditions on the scorecard")
    schedule: str | None = Field(None, description="cron expression")
    seed: int = Field(20250601, description="seed of every resample of the measures")
    resamples: int = Field(1000, ge=0, le=100_000, description="resamples an interval")

    @model_validator(mode="after")
    def _no_doubles(self) -> Self:
        for field in ("tasks", "models", "strategies", "judges"):
            names: Any = getattr(self, field)
            if len(set(names)) != len(names):
                msg = f"{field} names one thing twice"
                raise ValueError(msg)
        return self
