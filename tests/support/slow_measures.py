"""The measures once more, slowly: plain loops over answers, written from the definitions and nothing else.

No function of the project is called here. Everything is at least quadratic; for a few hundred answers a group.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, pstdev

Key = tuple[float | None, int]
"""A prompt variant within its task and strategy: paraphrase temperature and index."""


@dataclass(frozen=True)
class Answer:
    """One recorded answer; `instruction` None where the file has none."""

    model: str
    sample: str
    completion: str
    task: str = "t"
    strategy: str = "simple"
    temperature: float | None = None
    variant: int = 0
    is_original: bool = True
    instruction: str | None = None
    repetition: int = 1
    gold: str | None = None

    @property
    def key(self) -> Key:
        """The variant."""
        return (self.temperature, self.variant)

    @property
    def is_blank(self) -> bool:
        """Whether nothing was said."""
        return not self.completion.strip()


def in_order(key: Key) -> tuple[bool, float, int]:
    """Variants sort by temperature, those without one first, then by index."""
    return (key[0] is not None, key[0] or 0.0, key[1])


def mean(values: Sequence[float]) -> float | None:
    """None of nothing."""
    return fmean(values) if values else None


def entropy(shares: Sequence[float], n_classes: int) -> float | None:
    """-sum p ln p / ln C."""
    if n_classes < 2:
        return None
    return -sum(p * math.log(p) for p in shares if p > 0) / math.log(n_classes)


class Group:
    """The answers of one model, task and strategy."""

    def __init__(
        self, answers: Sequence[Answer], planned: dict[Key, list[int]], labels: Sequence[str], level: str
    ) -> None:
        """Take the group's answers, and the repetitions planned for each variant."""
        self.answers = [answer for answer in answers if answer.key in planned]
        self.planned = planned
        self.labels = tuple(labels)
        self.level = level
        self.classes: tuple[str | None, ...] = (*self.labels, None)
        self.gold = {answer.sample: answer.gold for answer in answers}
        self.samples = sorted({answer.sample for answer in self.answers})
        self.original = {answer.key: answer.is_original for answer in answers}
        self.instruction = {answer.key: answer.instruction for answer in answers}
        self.cells: dict[tuple[str, Key], list[Answer]] = defaultdict(list)
        for answer in self.answers:
            self.cells[answer.sample, answer.key].append(answer)
        self._p_tau: dict[str, dict[str | None, float]] = {}

    def label(self, answer: Answer) -> str | None:
        """A completion that equals a label after trimming is that label; None is N/A."""
        text = answer.completion.strip()
        return text if text in self.labels else None

    # ---- distributions

    def cell(self, sample: str, key: Key) -> dict[str | None, float]:
        """p_ivc, of repetitions."""
        found = Counter(self.label(answer) for answer in self.cells[sample, key])
        return {label: n / sum(found.values()) for label, n in found.items()}

    def variants_of(self, sample: str) -> list[Key]:
        """Variants that answered the sample."""
        return sorted((key for name, key in self.cells if name == sample and self.cells[name, key]), key=in_order)

    def wordings_of(self, sample: str) -> list[dict[str | None, float]]:
        """Shares of each wording; with paraphrase temperatures equal wordings are one, the mean of their variants."""
        is_swept = any(temperature is not None for temperature, _ in self.instruction)
        alike: dict[Hashable, list[dict[str | None, float]]] = defaultdict(list)
        for key in self.variants_of(sample):
            wording = self.instruction[key] if is_swept and self.instruction[key] is not None else key
            alike[wording].append(self.cell(sample, key))
        return [
            {c: sum(one.get(c, 0.0) for one in several) / len(several) for c in self.classes}
            for several in alike.values()
        ]

    def p_tau(self, sample: str) -> dict[str | None, float]:
        """Mean over wordings, dense over labels and N/A."""
        if sample not in self._p_tau:
            wordings = self.wordings_of(sample)
            self._p_tau[sample] = {c: sum(one[c] for one in wordings) / len(wordings) for c in self.classes}
        return self._p_tau[sample]

    # ---- sensitivity

    def sensitivity(self, sample: str) -> float | None:
        """Normalised entropy of p_tau."""
        if len(self.wordings_of(sample)) < 2:
            return None
        return entropy(list(self.p_tau(sample).values()), len(self.classes))

    def sensitivity_valid(self, sample: str) -> float | None:
        """The same over valid answers alone."""
        shares = [p for c, p in self.p_tau(sample).items() if c is not None]
        if len(self.wordings_of(sample)) < 2 or sum(shares) == 0:
            return None
        return entropy([p / sum(shares) for p in shares], len(self.labels))

    def pseudo_value(self, sample: str) -> float | None:
        """Q S_Q - (Q - 1) S_{Q-1} by leaving out each wording."""
        wordings = self.wordings_of(sample)
        q = len(wordings)
        if q < 2:
            return None

        def plug_in(several: Sequence[dict[str | None, float]]) -> float:
            figure = entropy([sum(one[c] for one in several) / len(several) for c in self.classes], len(self.classes))
            assert figure is not None
            return figure

        return q * plug_in(wordings) - (q - 1) * fmean(map(plug_in, combinations(wordings, q - 1)))

    def sensitivity_corrected(self, sample: str) -> float | None:
        """The same, at most 1; None below eight wordings."""
        figure = self.pseudo_value(sample)
        return None if figure is None or len(self.wordings_of(sample)) < 8 else min(1.0, figure)

    # ---- consistency

    def pair(self, first: str, second: str) -> float:
        """1 - total variation distance."""
        p, q = self.p_tau(first), self.p_tau(second)
        return 1 - sum(abs(p[c] - q[c]) for c in self.classes) / 2

    def members(self, gold: str) -> list[str]:
        """Samples of a gold class."""
        return [sample for sample in self.samples if self.gold[sample] == gold]

    def pairs(self, gold: str) -> list[float]:
        """Of all ordered pairs of a class, self-pairs among them."""
        return [self.pair(a, b) for a in self.members(gold) for b in self.members(gold)]

    def consistency_by_class(self) -> dict[str, tuple[float, float | None, int]]:
        """Consistency, without self-pairs, number of samples."""
        found = {}
        for gold in self.labels:
            members = self.members(gold)
            if members:
                distinct = [self.pair(a, b) for a in members for b in members if a != b]
                found[gold] = (fmean(self.pairs(gold)), mean(distinct), len(members))
        return found

    def consistency(self) -> tuple[float | None, float | None]:
        """Over all pairs of all classes, and the standard deviation."""
        pooled = [figure for gold in self.labels for figure in self.pairs(gold)]
        return (fmean(pooled), pstdev(pooled)) if pooled else (None, None)

    def mean_consistency(self, sample: str) -> float | None:
        """Against the others of its class."""
        gold = self.gold[sample]
        if gold is None:
            return None
        return mean([self.pair(sample, other) for other in self.members(gold) if other != sample])

    # ---- accuracy

    def accuracy_by_variant(self) -> dict[Key, float]:
        """Mean over samples with gold of the share of right repetitions; N/A is not right."""
        cells: dict[Key, list[float]] = defaultdict(list)
        for (sample, key), answers in self.cells.items():
            if answers and self.gold[sample] is not None:
                cells[key].append(fmean(self.label(answer) == self.gold[sample] for answer in answers))
        return {key: fmean(shares) for key, shares in cells.items()}

    def micro_f1(self) -> tuple[float | None, float | None]:
        """Mean and standard deviation over variants."""
        by_variant = list(self.accuracy_by_variant().values())
        return (fmean(by_variant), pstdev(by_variant)) if by_variant else (None, None)

    def invalid_rate(self) -> float | None:
        """Share of answers that are no label."""
        return mean([float(self.label(answer) is None) for answer in self.answers])

    def completed(self, gold: dict[str, str | None], *, is_modal: bool) -> Group:
        """The group with every missing ask answered: by N/A, or by what the sample was given most often, else the group.

        `gold` has every sample that was to be asked.
        """
        answers = list(self.answers)
        given = {(answer.sample, answer.key, answer.repetition) for answer in answers}
        for sample, right in gold.items():
            own = [answer for answer in self.answers if answer.sample == sample]
            said = self._commonest(own or self.answers) if is_modal else None
            answers += [
                replace(
                    self.answers[0],
                    sample=sample,
                    completion=said or "no label",
                    temperature=key[0],
                    variant=key[1],
                    repetition=repetition,
                    gold=right,
                )
                for key, repetitions in self.planned.items()
                for repetition in repetitions
                if (sample, key, repetition) not in given
            ]
        group = Group(answers, self.planned, self.labels, self.level)
        group.original, group.instruction = self.original, self.instruction
        return group

    def _commonest(self, answers: Sequence[Answer]) -> str | None:
        """The label of most answers, of equally common ones the first of the card, N/A last."""
        given = [self.label(answer) for answer in answers]
        return max(self.classes, key=given.count)

    # ---- wording, noise, item: pairs of single asks

    def variant_disagreement(self) -> float | None:
        """How often two answers to a sample under two variants differ, as the mean over samples."""
        disagreeing = []
        for sample in self.samples:
            cells = [self.cell(sample, key) for key in self.variants_of(sample)]
            pairs = [(v, w) for v in range(len(cells)) for w in range(len(cells)) if v != w]
            if pairs:
                agreeing = [sum(cells[v].get(c, 0.0) * cells[w].get(c, 0.0) for c in self.classes) for v, w in pairs]
                disagreeing.append(1 - fmean(agreeing))
        return mean(disagreeing)

    def shares(self) -> dict[str, float | None]:
        """Disagreement of two asks of a cell, of two variants, of two samples, and their differences over the last."""
        repeats = []
        n_repeated: Counter[str] = Counter()
        for (sample, _), answers in self.cells.items():
            given = [self.label(answer) for answer in answers]
            if len(given) >= 2:
                pairs = [given[i] != given[j] for i in range(len(given)) for j in range(len(given)) if i != j]
                repeats.append(fmean(pairs))
                n_repeated[sample] += 1
        p: dict[str, dict[str | None, float]] = {}
        for sample in self.samples:
            cells = [self.cell(sample, key) for key in self.variants_of(sample)]
            q = len(cells)
            p[sample] = {c: sum(cell.get(c, 0.0) for cell in cells) / q for c in self.classes}
        agreeing = [sum(p[a][c] * p[b][c] for c in self.classes) for a in self.samples for b in self.samples if a != b]
        nothing: dict[str, float | None] = {"wording_share": None, "noise_share": None, "item_share": None}
        if not agreeing or max(n_repeated.values(), default=0) < 2:
            return nothing
        d_repeat, d_variant, d_sample = fmean(repeats), self.variant_disagreement(), 1 - fmean(agreeing)
        if d_sample == 0 or d_variant is None:
            return nothing
        return {
            "wording_share": (d_variant - d_repeat) / d_sample,
            "noise_share": d_repeat / d_sample,
            "item_share": (d_sample - d_variant) / d_sample,
        }


# ---- prompt stability


def alpha(units: Sequence[Sequence[Hashable]], level: str) -> float | None:
    """Krippendorff's alpha, D_o and D_e as sums over ordered pairs; labels are numbers unless nominal."""
    units = [unit for unit in units if len(unit) >= 2]
    values = [value for unit in units for value in unit]
    if not values:
        return None
    n = Counter(values)
    scale = sorted(n) if level == "ordinal" else []  # type: ignore[type-var]

    def distance(a: Hashable, b: Hashable) -> float:
        if level == "nominal" or a == b:
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)  # type: ignore[operator]
        low, high = sorted((scale.index(a), scale.index(b)))
        return float((sum(n[c] for c in scale[low : high + 1]) - (n[a] + n[b]) / 2) ** 2)

    observed = sum(
        distance(unit[i], unit[j]) / (len(unit) - 1)
        for unit in units
        for i in range(len(unit))
        for j in range(len(unit))
        if i != j
    ) / len(values)
    expected = sum(distance(a, b) for i, a in enumerate(values) for j, b in enumerate(values) if i != j)
    if expected == 0:
        return 1.0
    return 1 - observed / (expected / (len(values) * (len(values) - 1)))


@dataclass(frozen=True)
class Stability:
    """One row of prompt stability."""

    pss: float | None
    is_degenerate: bool | None
    n_samples: int
    n_annotations: int
    n_distinct_wordings: int


@dataclass(frozen=True)
class Annotator:
    """Who is asked, about what: the answers by replicate and sample."""

    wording: Hashable
    answers: dict[int, dict[str, Answer]]


def annotation(group: Group, answer: Answer, annotation_filter: str) -> Hashable | None:
    """What alpha looks at; None is missing."""
    if annotation_filter == "verbatim":
        return None if answer.is_blank else answer.completion
    label = group.label(answer)
    if label is None:
        return "N/A of its own" if annotation_filter == "labels_and_na" and group.level == "nominal" else None
    if group.level == "nominal":
        return label
    return float(label) if group.level == "interval" else group.labels.index(label)


def stability(
    group: Group, annotators: Sequence[Annotator], annotation_filter: str
) -> dict[tuple[str, int], Stability]:
    """Cumulative and adjacent for k from 2, and all; annotators who never answered are none.

    A replicate that some of them lack is none, as it is where there are none at all: then nobody is an annotator.
    """
    annotators = [one for one in annotators if any(one.answers.values())]
    level = "nominal" if annotation_filter == "verbatim" else group.level
    everywhere = sorted({replicate for one in annotators for replicate in one.answers})
    replicates = [r for r in everywhere if all(one.answers.get(r) for one in annotators)]
    if not replicates:
        annotators = []

    def figure(chosen: Sequence[Annotator]) -> Stability:
        pairable: list[dict[str, list[Hashable]]] = []
        for replicate in replicates:
            units: dict[str, list[Hashable]] = defaultdict(list)
            for one in chosen:
                for sample, answer in one.answers.get(replicate, {}).items():
                    value = annotation(group, answer, annotation_filter)
                    if value is not None:
                        units[sample].append(value)
            pairable.append({sample: unit for sample, unit in units.items() if len(unit) >= 2})
        most = max(len(units) for units in pairable)
        large = [units for units in pairable if units and len(units) >= most / 2]
        varied = [units for units in large if len({value for unit in units.values() for value in unit}) > 1]
        counted = varied or large
        wordings = len({one.wording for one in chosen})
        return Stability(
            mean([found for units in counted if (found := alpha(list(units.values()), level)) is not None]),
            not varied if counted else None,
            len({sample for units in counted for sample in units}),
            sum(len(unit) for units in counted for unit in units.values()),
            wordings,
        )

    rows = {}
    for k in range(2, len(annotators) + 1):
        rows["cumulative", k] = figure(annotators[:k])
        rows["adjacent", k] = figure(annotators[k - 2 : k])
        rows["all", len(annotators)] = figure(annotators)
    return rows


def intra(group: Group) -> list[Annotator]:
    """Each ask of an original."""
    asks = []
    for key in sorted(group.planned, key=in_order):
        if group.original[key]:
            for repetition in group.planned[key]:
                said = {a.sample: a for a in group.answers if a.key == key and a.repetition == repetition}
                asks.append(Annotator(group.instruction[key] or key, {1: said}))
    return asks


def inter(group: Group) -> dict[float | None, list[Annotator]]:
    """By paraphrase temperature: its variants, and an original that has no temperature."""
    found = {}
    for temperature in {key[0] for key in group.planned}:
        keys = [key for key in group.planned if key[0] == temperature or (key[0] is None and group.original[key])]
        if len(keys) < 2:
            continue
        keys.sort(key=lambda key: (not group.original[key], key[1]))
        shared = set.intersection(*(set(group.planned[key]) for key in keys))
        found[temperature] = [
            Annotator(
                group.instruction[key] or key,
                {
                    repetition: {a.sample: a for a in group.answers if a.key == key and a.repetition == repetition}
                    for repetition in shared
                },
            )
            for key in keys
        ]
    return found


def inter_model(groups: dict[str, Group]) -> list[Annotator]:
    """Models, original wording, repetition 1."""
    asks = []
    for _, group in sorted(groups.items()):
        originals = sorted((key for key in group.planned if group.original[key]), key=in_order)
        if originals and min(group.planned[originals[0]]) == 1:
            key = originals[0]
            said = {a.sample: a for a in group.answers if a.key == key and a.repetition == 1}
            asks.append(Annotator(group.instruction[key] or key, {1: said}))
    return asks
