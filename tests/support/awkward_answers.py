"""Recorded answers made to be awkward, one audit each: what a measure may get wrong stands in the name."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from tests.support.slow_measures import Answer, Group, Key

JUNK = ("", "  ", "I cannot tell", "40 Environment", "N/A", "None", "n/a")


@dataclass(frozen=True)
class Case:
    """An audit: its answers, the rows whose completion the file leaves out, and how it is imported."""

    name: str
    labels: tuple[str, ...]
    answers: Sequence[Answer]
    level: str = "nominal"
    absent: Sequence[Answer] = ()
    max_invalid_rate: float | None = None  # above it a variant breaks its format
    is_small: bool = True  # small enough for the reference

    def frame(self) -> pl.DataFrame:
        """The file."""
        rows = [(answer, answer.completion) for answer in self.answers] + [(answer, None) for answer in self.absent]
        columns = {
            "model": "model",
            "sample_id": "sample",
            "task": "task",
            "strategy": "strategy",
            "variant_index": "variant",
            "is_original": "is_original",
            "instruction": "instruction",
            "paraphrase_temperature": "temperature",
            "repetition": "repetition",
            "gold_label": "gold",
        }
        data = {
            name: pl.Series([_text(getattr(answer, attribute)) for answer, _ in rows], dtype=pl.String)
            for name, attribute in columns.items()
        }
        return pl.DataFrame(data | {"completion": pl.Series([said for _, said in rows], dtype=pl.String)})

    def planned(self, task: str, strategy: str) -> dict[Key, list[int]]:
        """Repetitions of each variant in the file's own grid, over all models."""
        found: dict[Key, set[int]] = {}
        for answer in (*self.answers, *self.absent):
            if (answer.task, answer.strategy) == (task, strategy):
                found.setdefault(answer.key, set()).add(answer.repetition)
        return {key: sorted(repetitions) for key, repetitions in found.items()}

    @property
    def models(self) -> list[str]:
        """Models of the file."""
        return sorted({answer.model for answer in (*self.answers, *self.absent)})

    def n_samples(self, task: str) -> int:
        """Samples of a task, answered or not."""
        return len({answer.sample for answer in (*self.answers, *self.absent) if answer.task == task})

    def golds(self, task: str) -> dict[str, str | None]:
        """The gold label of each sample of a task, answered or not."""
        return {answer.sample: answer.gold for answer in (*self.answers, *self.absent) if answer.task == task}

    def groups(self) -> dict[tuple[str, str, str], Group]:
        """By model, task and strategy."""
        found = {}
        for task, strategy in sorted({(a.task, a.strategy) for a in self.answers}):
            for model in self.models:
                own = [a for a in self.answers if (a.model, a.task, a.strategy) == (model, task, strategy)]
                planned = self.planned(task, strategy)
                everything = [a for a in self.answers if (a.task, a.strategy) == (task, strategy)]
                group = Group(own, planned, self.labels, self.level)
                group.original |= {a.key: a.is_original for a in everything}
                group.instruction |= {a.key: a.instruction for a in everything}
                found[model, task, strategy] = group
        return found

    def breaking(self, answers: Sequence[Answer], planned: dict[Key, list[int]]) -> set[Key]:
        """Variants of a group with too many invalid answers."""
        if self.max_invalid_rate is None:
            return set()
        found = set()
        for key in planned:
            invalid = [a.completion.strip() not in self.labels for a in answers if a.key == key]
            if invalid and sum(invalid) / len(invalid) > self.max_invalid_rate:
                found.add(key)
        return found


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True)
class Variant:
    """A wording of a design and how often it is asked."""

    index: int
    repetitions: Sequence[int] = (1, 2)
    temperature: float | None = None
    instruction: str | None = None
    is_original: bool | None = None


def answered(
    seed: int,
    labels: Sequence[str],
    variants: Sequence[Variant],
    *,
    n_samples: int = 8,
    golds: Sequence[str] | None = None,
    gold_rate: float = 1.0,
    missing_rate: float = 0.0,
    junk_rate: float = 0.1,
    junk: Sequence[str] = JUNK,
    certainty: float = 0.6,
    models: Sequence[str] = ("m",),
    tasks: Sequence[str] = ("t",),
    strategies: Sequence[str] = ("simple",),
) -> list[Answer]:
    """Answers of models with leanings by sample and wording, noise, white space around labels, and junk."""
    rng = random.Random(seed)
    found = []
    for task in tasks:
        gold = {s: rng.choice(golds or labels) if rng.random() < gold_rate else None for s in range(n_samples)}
        for strategy in strategies:
            for model in models:
                for sample in range(n_samples):
                    by_sample = gold[sample] or rng.choice(labels)
                    for variant in variants:
                        leaning = by_sample if rng.random() < certainty else rng.choice(labels)
                        for repetition in variant.repetitions:
                            if rng.random() < missing_rate:
                                continue
                            said = leaning if rng.random() < certainty else rng.choice(labels)
                            said = rng.choice(["{}", "{}", " {}\n", "\t{}"]).format(said)
                            if rng.random() < junk_rate:
                                said = rng.choice(junk)
                            original = variant.index == 0 if variant.is_original is None else variant.is_original
                            found.append(
                                Answer(
                                    model=model,
                                    sample=f"s{sample}",
                                    completion=said,
                                    task=task,
                                    strategy=strategy,
                                    temperature=variant.temperature,
                                    variant=variant.index,
                                    is_original=original,
                                    instruction=variant.instruction,
                                    repetition=repetition,
                                    gold=gold[sample],
                                )
                            )
    return found


def wordings(n: int, repetitions: Sequence[int] = (1, 2)) -> list[Variant]:
    """The original and n - 1 rephrasings."""
    return [Variant(index, repetitions, instruction=f"wording {index}") for index in range(n)]


def _duplicated(answers: Sequence[Answer]) -> list[Answer]:
    """Every variant twice, under another index."""
    n = 1 + max(answer.variant for answer in answers)
    copies = [
        replace(a, variant=a.variant + n, is_original=False, instruction=f"again {a.instruction}") for a in answers
    ]
    return [*answers, *copies]


def _without(answers: Sequence[Answer], is_out: Callable[[Answer], bool]) -> list[Answer]:
    return [answer for answer in answers if not is_out(answer)]


def noise_alone(seed: int, n_samples: int, n_variants: int) -> list[Answer]:
    """Samples with leanings of their own, asked twice a wording, to which wordings make no difference."""
    rng = random.Random(seed)
    labels = "abcdef"
    found = []
    for sample in range(n_samples):
        weights = [rng.random() ** 8 for _ in labels]
        for variant in range(n_variants):
            for repetition in (1, 2):
                said = rng.choices(labels, weights)[0]
                found.append(
                    Answer(
                        "m",
                        f"s{sample}",
                        said,
                        variant=variant,
                        is_original=variant == 0,
                        repetition=repetition,
                        instruction=f"wording {variant}",
                    )
                )
    return found


def swept(original: Sequence[Variant]) -> list[Variant]:
    """Two temperatures; wordings equal within one ("twin"), across both ("both") and to the original ("as it was")."""
    cool = ["twin", "twin", "both", "cool"]
    warm = ["both", "as it was", "warm"]
    return [
        *original,
        *(Variant(index, (1, 2), 0.1, text) for index, text in enumerate(cool, start=1)),
        *(Variant(index, (1, 2), 1.0, text) for index, text in enumerate(warm, start=1)),
    ]


AB = ("a", "b")
ABCD = ("a", "b", "c", "d")
UNEQUAL = [
    Variant(0, (1, 2, 3, 4, 5), instruction="w0"),
    *(Variant(i, (1, 2), instruction=f"w{i}") for i in range(1, 6)),
]
SELDOM = [Variant(0, range(1, 11), instruction="w0"), *(Variant(i, (1, 2), instruction=f"w{i}") for i in range(1, 15))]
BASE = answered(103, ABCD, wordings(4), junk_rate=0.1)


def all_cases() -> list[Case]:
    """One audit each."""
    texts = ("it's", 'a, "b"', "naïve ☕", "東京", "{c}")
    whole_grid = answered(31, AB, wordings(3), n_samples=6)
    lost = [a for a in whole_grid if a.sample == "s2" and a.variant == 1]
    never = answered(41, ABCD, UNEQUAL, n_samples=9, missing_rate=0.1)
    silent = [a for a in never if a.sample in {"s1", "s4"}]
    three = answered(32, ABCD, wordings(5), models=("m1", "m2", "m3"), n_samples=7)
    alike = [replace(a, instruction="alike") if a.variant >= 3 else a for a in three]
    steady = [
        replace(a, completion="?" if a.variant and i % 2 else a.gold or "")
        for i, a in enumerate(answered(38, ABCD, SELDOM, n_samples=10, junk_rate=0.0))
    ]
    partly = answered(33, AB, wordings(5, (1, 2, 3)), models=("m1", "m2"))
    noisy = [
        replace(a, completion="Well, it depends.")
        if a.model == "m1" and a.variant in (2, 4) and a.repetition == 1
        else a
        for a in answered(34, ABCD, wordings(6), models=("m1", "m2"), junk_rate=0.02)
    ]
    return [
        Case("unequal_repetitions", ABCD, answered(1, ABCD, UNEQUAL, golds="abc", gold_rate=0.8)),
        Case("missing_cells", ABCD, answered(2, ABCD, UNEQUAL, missing_rate=0.3, gold_rate=0.9, n_samples=10)),
        Case("na_is_a_label", ("N/A", "None", "yes"), answered(3, ("N/A", "None", "yes"), wordings(5), junk_rate=0.3)),
        Case("na_is_no_label", AB, answered(4, AB, wordings(5), junk_rate=0.4)),
        Case("one_sample", AB, answered(5, AB, wordings(6), n_samples=1)),
        Case("two_samples", AB, answered(25, AB, wordings(4), n_samples=2)),
        Case("one_repetition", ABCD, answered(6, ABCD, wordings(7, (1,)), n_samples=11)),
        Case("one_variant", ABCD, answered(7, ABCD, wordings(1, (1, 2, 3, 4)))),
        Case("one_variant_once", AB, answered(8, AB, wordings(1, (1,)))),
        Case("two_variants", AB, answered(9, AB, wordings(2, (1, 2, 3)), missing_rate=0.2)),
        Case(
            "many_groups",
            ABCD,
            answered(
                10,
                ABCD,
                UNEQUAL,
                models=("m1", "m2", "m3"),
                tasks=("t1", "t2"),
                strategies=("simple", "detail"),
                n_samples=5,
                missing_rate=0.1,
                gold_rate=0.7,
            ),
        ),
        Case("swept", ABCD, answered(11, ABCD, swept([Variant(0, (1, 2, 3, 4), None, "as it was")]))),
        Case(
            "swept_originals",
            ABCD,
            answered(
                12,
                ABCD,
                swept([Variant(0, (1, 2, 3), 0.1, "as it was"), Variant(0, (1, 2), 1.0, "as it was")]),
                missing_rate=0.1,
                models=("m1", "m2"),
            ),
        ),
        Case("one_temperature", AB, answered(13, AB, [Variant(i, (1,), 0.7, f"w{i % 3}") for i in range(5)])),
        Case(
            "ordinal",
            ("low", "mid", "high", "never"),
            answered(14, ("low", "mid", "high"), wordings(4), missing_rate=0.1),
            level="ordinal",
        ),
        Case(
            "interval",
            ("1", "2", "3.5", "10", "-1"),
            answered(15, ("1", "2", "3.5", "10", "-1"), UNEQUAL),
            level="interval",
        ),
        Case(
            "ordinal_swept", ABCD, answered(16, ABCD, swept([Variant(0, (1, 2), None, "as it was")])), level="ordinal"
        ),
        Case(
            "odd_texts",
            texts,
            answered(17, texts, wordings(4), models=('it\'s a, "model"', "模型"), strategies=("d'oh",)),
        ),
        Case("no_gold", AB, answered(18, AB, wordings(4), gold_rate=0.0)),
        Case("nothing_valid", AB, answered(19, AB, wordings(3), junk_rate=1.0)),
        Case("nothing_said", AB, answered(20, AB, wordings(3), junk_rate=1.0, junk=("", " \n"))),
        Case("unanimous", AB, answered(21, AB, wordings(4), golds="a", certainty=1.0, junk_rate=0.0)),
        Case("no_instructions", ABCD, answered(22, ABCD, [Variant(i) for i in range(4)])),
        Case(
            "no_instructions_swept",
            ABCD,
            answered(23, ABCD, [Variant(0), Variant(1, temperature=0.1), Variant(1, temperature=1.0)]),
        ),
        Case("other_original", AB, answered(24, AB, [replace(v, is_original=v.index == 2) for v in wordings(4)])),
        Case("late_repetitions", AB, answered(26, AB, wordings(4, (3, 5)))),
        Case("equal_wordings", AB, answered(27, AB, [replace(v, instruction="the same") for v in wordings(5)])),
        Case("absent_cells", AB, _without(whole_grid, lambda a: a in lost), absent=lost),
        Case("variant_never_answered", ABCD, _without(alike, lambda a: a.model == "m2" and a.variant == 2)),
        Case("invalid_where_seldom_asked", ABCD, steady),
        Case("silent_original", ABCD, _without(three, lambda a: a.model == "m3" and a.variant == 0)),
        Case(
            "repetition_of_one_model",
            AB,
            _without(
                partly, lambda a: a.model == "m2" and (a.repetition == 3 or (a.repetition == 2 and a.variant == 1))
            ),
        ),
        Case(
            "second_repetition_cut_short",
            ABCD,
            _without(
                answered(39, ABCD, wordings(4, (1, 2, 3)), n_samples=10),
                lambda a: a.repetition == 2 and a.sample not in {"s0", "s1", "s2", "s3"},
            ),
        ),
        Case(
            "first_repetition_without_variation",
            ABCD,
            [
                replace(a, completion="b") if a.repetition == 1 else a
                for a in answered(40, ABCD, UNEQUAL, n_samples=9, missing_rate=0.05)
            ],
        ),
        Case("samples_never_answered", ABCD, _without(never, lambda a: a in silent), absent=silent),
        Case("breaking", ABCD, noisy, max_invalid_rate=0.3),
        Case(
            "breaking_original",
            AB,
            [
                replace(a, completion="?") if a.variant == 0 and a.model == "m1" else a
                for a in answered(35, AB, wordings(4), models=("m1", "m2"), junk_rate=0.0)
            ],
            max_invalid_rate=0.5,
        ),
        Case(
            "breaking_swept",
            ABCD,
            [
                replace(a, completion="?") if a.temperature == 0.1 and a.variant in (1, 3) else a
                for a in answered(36, ABCD, swept([Variant(0, (1, 2, 3, 4), None, "as it was")]), junk_rate=0.0)
            ],
            max_invalid_rate=0.5,
        ),
        Case("base", ABCD, BASE),
        Case("duplicated", ABCD, _duplicated(BASE)),
        Case("noise_alone", tuple("abcdef"), noise_alone(37, 300, 12), is_small=False),
    ]
