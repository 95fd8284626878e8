"""Defines the cards of rephrasers, and how an audit uses one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field

from promptaudit.registry.base import CODE_SHA256, Card, FunctionName, Name, Sha256
from promptaudit.registry.errors import nearest
from promptaudit.registry.placeholders import placeholders
from promptaudit.registry.task_cards import PROTECT_LABELS

SELF = "self"
"""The model name of a rephraser that has each audited model reword the prompts it is asked."""


class RephraserCard(Card):
    """A rephraser of instructions."""

    kind: Literal["rules", "model", "fixed", "python", "command"] = Field(description="how instructions are reworded")
    seed: int = Field(0, description="rules: seed of its choices")
    model: Name | None = Field(
        None,
        description=(
            "model: the model card that is asked. With `self` each model of the audit rewords the prompts that it is "
            "asked; a model that can reword nothing is asked the prompts of the model that it perturbs, or else those "
            "of the first model that can"
        ),
    )
    instructions: str | None = Field(None, description="model: what the model is told, with {instruction} and {n}")
    variants: dict[Name, tuple[str, ...]] | None = Field(None, description="fixed: task id to its rephrasings")
    function: FunctionName | None = Field(
        None,
        description="python: module:function, called with (text, n, temperature), which returns up to n rephrasings; the "
        "temperature is None without paraphrase temperatures",
    )
    command: tuple[Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")], ...] | None = Field(
        None,
        min_length=1,
        description=(
            "command: a program and its arguments, without a shell. It runs in a copy of the registry folder that "
            "leaves out the cards, the data that they name, and names that begin with a dot. It reads one JSON object "
            "with task_id, instruction, n, temperature and round, and prints a JSON array of strings. Trust is for "
            "these words and for the files of the copy"
        ),
    )
    environment: tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)], ...] = Field(
        (),
        description=(
            "command: variables that it gets beside PATH, HOME, TMPDIR and those of the language; a variable that may "
            "hold a key is refused"
        ),
    )
    timeout_s: float = Field(600, gt=0, description="command: seconds after which it is ended and the run stops")
    code_sha256: Sha256 | None = Field(None, description=CODE_SHA256)
    protect_labels: bool | None = Field(None, description=PROTECT_LABELS)
    max_rounds: int = Field(
        3, ge=1, le=20, description="model, python, command: how often missing rephrasings are asked for again"
    )

    @property
    def is_given(self) -> bool:
        """Checks whether its rephrasings are a person's own words, sent as they are."""
        return self.kind == "fixed"

    @property
    def is_self(self) -> bool:
        """Checks whether each audited model rewords its own prompts."""
        return self.model == SELF

    def by(self, model_id: str) -> Self:
        """Copies the card with this model as the one that is asked."""
        return self.model_copy(update={"model": model_id})

    @property
    def asks_nobody(self) -> bool:
        """Checks whether it rewords by shipped rules or the card's own list, without a model or other code."""
        return self.kind in ("rules", "fixed")

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        for field, kind, verb in (
            ("model", "model", "asks"),
            ("variants", "fixed", "lists"),
            ("function", "python", "calls"),
            ("command", "command", "runs"),
        ):
            if (self.kind == kind) != (getattr(self, field) is not None):
                yield f"{field} is what a rephraser of kind {kind} {verb}, and no other"
        if self.environment and self.kind != "command":
            yield f"environment has no meaning for a rephraser of kind {self.kind}"
        if self.code_sha256 is not None and self.kind not in ("python", "command"):
            yield f"code_sha256 has no meaning for a rephraser of kind {self.kind}"
        if self.instructions is not None and not {"instruction", "n"} <= set(placeholders(self.instructions)):
            yield "instructions must use {instruction} and {n}"


Variation = Literal["wording", "format", "option_order", "label_order", "examples", "input_noise", "system", "language"]
"""A respect in which a variant may differ from the original."""
WORDED_ALONE = (None, "original", "wording", "template")
"""Variations, as landed, that differ from the original in wording or template at most. An import has None."""
MOST_VARIANTS = 10_000
OTHER_KINDS = ("kinds", "variants_of", "crossed", "noise_rate", "systems")
"""Fields of `Rephrasing` that do not affect the wordings."""
SENT_TO_NO_MODEL = ("meaning",)
"""Fields of `Rephrasing` that do not affect what the audited models are sent."""
_NVariants = Annotated[int, Field(ge=1, le=MOST_VARIANTS)]


class Rephrasing(Card):
    """The variants of each prompt: in which respects they differ from the original, how many there are, and what rewords."""

    rephraser: Name | None = Field(None, description="a rephraser card, which kinds with `wording` need")
    variants: int | None = Field(
        None, ge=1, le=MOST_VARIANTS, description="variants of each kind, the original among them"
    )
    temperatures: tuple[Annotated[float, Field(ge=0, le=100)], ...] | None = Field(
        None, description="paraphrase temperatures"
    )
    variants_per_temperature: int | None = Field(
        None, ge=1, le=MOST_VARIANTS, description="how many wordings are added to the original"
    )
    templates: bool = Field(
        default=False,
        description="whether the first template of multiple_choice and open tasks is reworded too, its options, placeholders "
        "and form of the answer kept; the rewordings are asked beside the card's templates",
    )
    kinds: tuple[Variation, ...] = Field(
        ("wording",),
        min_length=1,
        description="in which respects variants differ from the original: `wording` of the instruction; `format` (separators, "
        "enumerators, casing, spacing); `option_order` of multiple_choice; `label_order` in the prompt; `examples` that are "
        "shown (which, how many, in which order); `input_noise` (typos, case, white space); `system` message; `language` of "
        "the instruction, from the task's translations. All but `wording` and `language` are made by fixed rules",
    )
    variants_of: dict[Variation, _NVariants] = Field(
        default_factory=dict,
        description="for each kind with a number of its own, how many variants it has, the original among them",
    )
    crossed: bool = Field(
        default=False,
        description="whether every combination of the kinds' variants is asked, at most 10,000; default: each variant differs "
        "from the original in one kind",
    )
    noise_rate: float = Field(0.05, gt=0, le=1, description="input_noise: share of the words that are changed")
    systems: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        (), description="system: messages in place of the original's; default: five that ship"
    )
    meaning: Name | None = Field(
        None,
        description="a judge card that rules on each rewording, whether it asks the same as the original; the shipped judge "
        "`same_question` does. PSS and sensitivity over those that do stand beside",
    )

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        swept = self.temperatures is not None
        if swept != (self.variants_per_temperature is not None) or swept == (self.variants is not None):
            yield "rephrasing needs either variants, or temperatures with variants_per_temperature"
        if self.temperatures is not None and len(set(self.temperatures)) != len(self.temperatures):
            yield "a temperature stands twice"
        yield from self._wording_faults()
        yield from self._kind_faults()
        if self.meaning is not None and not {"wording", "language"} & set(self.kinds):
            yield "meaning: a judge of rewordings has nothing to rule on where kinds has neither wording nor language"

    def _wording_faults(self) -> Iterator[str]:
        if self.has_wording and self.rephraser is None:
            yield "rephrasing needs rephraser, a rephraser card, where kinds has wording"
        for field, is_there in (("temperatures", self.temperatures is not None), ("templates", self.templates)):
            if is_there and not self.has_wording:
                yield f"{field} is of kind wording, which kinds has not"
        if self.temperatures is not None and "wording" in self.variants_of:
            yield "variants_of: with temperatures, variants_per_temperature is the number of wordings"

    def _kind_faults(self) -> Iterator[str]:
        if len(set(self.kinds)) != len(self.kinds):
            yield "kinds names one thing twice"
        for kind in self.variants_of:
            if kind not in self.kinds:
                yield f"variants_of has {kind}, which kinds has not{nearest(kind, self.kinds)}"
        if "noise_rate" in self.model_fields_set and "input_noise" not in self.kinds:
            yield "noise_rate is of kind input_noise, which kinds has not"
        yield from self._system_faults()
        if self.crossed and {"wording", "language"} <= set(self.kinds):
            yield "crossed: wording and language both change the instruction; leave out one of the two"
        if self.crossed and self.n_crossed > MOST_VARIANTS:
            yield f"crossed: {self.n_crossed:,} combinations, at most {MOST_VARIANTS:,} are asked; give fewer variants or kinds"

    def _system_faults(self) -> Iterator[str]:
        if self.systems and "system" not in self.kinds:
            yield "systems is of kind system, which kinds has not"
        if len(set(self.systems)) != len(self.systems):
            yield "systems has one message twice"
        for message in self.systems:
            if placeholders(message):
                yield f"systems has no placeholders, found {{{placeholders(message)[0]}}}"

    @property
    def has_wording(self) -> bool:
        """Checks whether instructions are reworded."""
        return "wording" in self.kinds

    @property
    def wanted(self) -> int:
        """Counts the rephrasings wanted beside the original, for each temperature if there are any."""
        if not self.has_wording:
            return 0
        return self.variants_per_temperature or self.variants_of.get("wording", self.variants or 1) - 1

    @property
    def other_kinds(self) -> tuple[Variation, ...]:
        """Lists the kinds that no rephraser makes, in their order."""
        return tuple(kind for kind in self.kinds if kind != "wording")

    def n_of(self, kind: Variation) -> int:
        """Counts the wanted variants of a kind, including the original."""
        if kind == "wording":
            return 1 + len(self.temperatures or (None,)) * self.wanted
        return self.variants_of.get(kind, self.variants or (self.variants_per_temperature or 0) + 1)

    @property
    def n_crossed(self) -> int:
        """Counts the combinations of the wanted variants of all kinds."""
        return math.prod(self.n_of(kind) for kind in self.kinds)

    @property
    def of_wordings(self) -> Rephrasing:
        """Keeps only the fields that decide the wordings. An audit that varies more besides gives the same result."""
        given = {
            name: getattr(self, name)
            for name in type(self).model_fields
            if name not in (*OTHER_KINDS, *SENT_TO_NO_MODEL)
        }
        if self.temperatures is None:
            given["variants"] = self.wanted + 1
        return Rephrasing(**given)

    @property
    def of_other_kinds(self) -> dict[str, object]:
        """Keeps the fields that decide the other variants, as JSON has them; empty if none is set."""
        return self.model_dump(mode="json", exclude_defaults=True, include=set(OTHER_KINDS))
