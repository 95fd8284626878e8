"""Months of nights as providers make them: what is answered each night by models that change, or do not, in known ways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from promptaudit.registry.gate_columns import OF_ANSWERS
from promptaudit.udfs.differences.alike_nights import FEWEST_SAMPLES, NightSpread
from promptaudit.udfs.nights.churn_test import churn_test
from promptaudit.udfs.nights.lost_samples import lost_sample, lost_samples
from promptaudit.udfs.nights.states import (
    ALARM_LEVEL,
    LEAST_CLASS_EFFECT,
    LEAST_LOG_EFFECT,
    GroupState,
    StreamNight,
    next_state,
)
from promptaudit.udfs.nights.window_test import Nights, WindowTest, spread_of, window_test

Floats = NDArray[np.float64]

N_LABELS = 4
CHANGES_ON = 12
MIN_EFFECT = 0.02
CLASSES = {f"accuracy of {label}": label for label in range(N_LABELS)}
WORSE = {"micro_f1": -1, "lost_samples": -1, "sensitivity": 1, "label_churn": 0} | dict.fromkeys(OF_ANSWERS, 0)
WORSE |= dict.fromkeys(CLASSES, -1)
RATES = {"micro_f1", "refusal_rate", "token_limit_rate"}
LEAST = {"answer_length": LEAST_LOG_EFFECT, "completion_tokens": LEAST_LOG_EFFECT}
LEAST |= dict.fromkeys(CLASSES, LEAST_CLASS_EFFECT)  # no smaller than MIN_EFFECT


def never(_: int) -> float:
    """Returns what is added on a night of a quiet month; a name, so that a world goes to other processes."""
    return 0.0


def as_ever(_: int) -> float:
    """Returns by how much a night of a quiet month is multiplied."""
    return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """How the nights of a month differ.

    Attributes:
        fall: by how much the accuracy of model 0 lies lower on a night, given the night; 0 where nothing changed.
        class_fall: the same on the samples of one class of N_LABELS alone.
        lost: how many samples that model 0 was right about are wrong under every wording on a night.
        broken: under how many wordings no answer of model 0 can be read on a night.
        is_cached: repetitions of one night are one answer.
        kept: share of cells whose answers are those of the night before; the others are drawn anew.
        jitter: with it answers are the likeliest, up to noise of this size in logits that a whole night shares.
        load: deviation by which the logarithm of that size moves on a night, the same for all models.
        shift: deviation in logits by which each class of samples moves on a night, all models alike.
        n_models, n_tasks, n_samples, n_wordings, n_repetitions, n_nights: sizes.
        share_each_night: of the samples, in turns.
        n_of_document: samples that are of one document, which the tests know; they move alike by `document_shift`.
        document_shift: deviation in logits by which each document moves on a night.
        missing: share of cells that are lost, at random each night.
        has_classes: whether the accuracy on each class is a measure of its own.
        has_lengths: whether lengths, tokens, ends at the token limit and refusals are measured too. Answers of odd models are cut
            at a limit now and then, and now and then refused; those of even ones never are.
        wander: deviation by which the logarithms of all lengths move on a night, all samples of a model alike.
        longer: how many times as long model 0 answers on a night.
        refused: share of the answers of model 0 that it refuses on a night, beside the usual.
        cut: share of the answers of model 0 that end at the token limit on a night, the longest of them.
    """

    fall: Callable[[int], float] = never
    class_fall: Callable[[int], float] = never
    lost: Callable[[int], float] = never
    broken: Callable[[int], float] = never
    is_cached: bool = False
    kept: float = 0.0
    jitter: float = 0.0
    load: float = 0.0
    shift: float = 0.0
    n_models: int = 3
    n_tasks: int = 2
    n_samples: int = 60
    n_wordings: int = 12
    n_repetitions: int = 2
    n_nights: int = 30
    share_each_night: int = 1
    n_of_document: int = 1
    document_shift: float = 0.0
    missing: float = 0.0
    has_classes: bool = True
    has_lengths: bool = False
    wander: float = 0.0
    longer: Callable[[int], float] = as_ever
    refused: Callable[[int], float] = never
    cut: Callable[[int], float] = never

    @property
    def documents(self) -> NDArray[np.int64] | None:
        """Returns the document of each sample; None where each is of its own."""
        return None if self.n_of_document == 1 else np.arange(self.n_samples) // self.n_of_document

    def of_class(self, name: str) -> NDArray[np.bool_]:
        """Returns the samples that a measure is of: those of one gold label, or all."""
        labels = np.arange(self.n_samples) % N_LABELS
        return labels == CLASSES[name] if name in CLASSES else labels >= 0


@dataclass(slots=True)
class Lengths:
    """How one model answers in one task, whatever it says: heavy-tailed lengths, tokens that go with them, refusals, cuts."""

    world: World
    rng: np.random.Generator  # its own, so that labels are the same with and without lengths
    is_touchy: bool  # whether some samples are refused, and some answers cut, on any night
    changes: bool
    means: Floats = field(init=False)  # of the logarithm of characters, (n_samples, n_wordings)
    touchiness: Floats = field(init=False)  # chance of a refusal, (n_samples, 1)

    def __post_init__(self) -> None:
        """Draws what stays: samples differ much in length, wordings less."""
        n, q = self.world.n_samples, self.world.n_wordings
        self.means = (
            4 + self.rng.normal(0, 0.8, (n, 1)) + self.rng.normal(0, 0.2, (1, q)) + self.rng.normal(0, 0.3, (n, q))
        )
        self.touchiness = self.is_touchy * 0.1 * (self.rng.random((n, 1)) < 0.1)

    def ask(self, night: int) -> dict[str, Floats]:
        """Returns the values of a night by measure, (n_samples, n_wordings) each."""
        world, rng = self.world, self.rng
        shape = (1 if world.is_cached or world.jitter else world.n_repetitions, *self.means.shape)
        longer, refused, cut = (
            (world.longer(night), world.refused(night), world.cut(night)) if self.changes else (1.0, 0.0, 0.0)
        )
        logs = self.means + np.log(longer) + world.wander * rng.standard_normal()
        logs = logs + 0.3 * rng.standard_t(3, shape)  # of 60,000 answers one is some 5,000 times as long as another
        is_cut = rng.random(shape) < 0.01 * self.is_touchy
        if cut:
            is_cut |= logs > np.quantile(logs, 1 - cut)
        is_refused = rng.random(shape) < self.touchiness + refused
        characters = np.where(is_refused, 40, np.ceil(np.exp(np.minimum(logs, 12))))
        tokens = np.ceil(characters / 4 * np.exp(0.1 * rng.standard_normal(shape)))
        values = (np.log1p(characters), np.log1p(tokens), is_refused, is_cut)
        names = ("answer_length", "completion_tokens", "refusal_rate", "token_limit_rate")
        return {name: value.mean(axis=0) for name, value in zip(names, values, strict=True)}


@dataclass(slots=True)
class Answers:
    """What one model answers in one task, night by night; shares of labels by night, sample and cell."""

    world: World
    logits: Floats  # (n_samples, n_wordings, N_LABELS), the gold label first
    changes: bool
    lengths: Lengths | None = None
    shares: list[Floats] = field(default_factory=list)
    drawn: NDArray[np.int64] | None = None  # the answers of the night before, (n_repetitions, n_samples, n_wordings)
    values: dict[str, list[Floats]] = field(default_factory=lambda: defaultdict(list))

    def ask(self, night: int, rng: np.random.Generator, shift: Floats, load: float = 1.0) -> None:
        """Adds a night; shift has a logit a class, load multiplies its jitter."""
        world, logits = self.world, self._moved(night, rng, shift)
        shape = (world.n_repetitions, *logits.shape)
        if world.jitter:
            noise = np.broadcast_to(load * world.jitter * rng.standard_normal(shape[1:]), shape)
        elif world.is_cached:
            noise = np.broadcast_to(rng.gumbel(size=shape[1:]), shape)
        else:
            noise = rng.gumbel(size=shape)
        if self.changes:
            logits[np.argsort(-self.logits[..., 0].mean(axis=1))[: int(world.lost(night))], :, 0] -= 50
        drawn = np.argmax(logits + noise, axis=-1)
        if world.kept and self.drawn is not None:
            drawn = np.where(rng.random(drawn.shape[1:]) < world.kept, self.drawn, drawn)
        self.drawn = drawn
        if self.changes and world.broken(night):
            drawn = np.where(np.arange(world.n_wordings) < world.broken(night), N_LABELS - 1, drawn)
        counts = (drawn[..., None] == np.arange(N_LABELS)).sum(axis=0)
        if world.missing:
            counts = np.where(rng.random(counts.shape[:2])[..., None] < world.missing, 0, counts)
        n = counts.sum(axis=-1, keepdims=True)
        shares = np.where(n > 0, counts / np.maximum(n, 1), np.nan)
        asked = np.arange(world.n_samples) % world.share_each_night == night % world.share_each_night
        shares[~asked] = np.nan
        self.shares.append(shares)
        p = _over_cells(shares, shares)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -np.where(p > 0, p * np.log(p), 0.0).sum(axis=-1) / np.log(N_LABELS)
        self.values["micro_f1"].append(p[:, 0])
        self.values["sensitivity"].append(np.where(np.isnan(p[:, 0]), np.nan, entropy))
        if self.lengths is not None:
            for name, cells in self.lengths.ask(night).items():
                self.values[name].append(_over_cells(np.where(np.isnan(shares[..., 0]), np.nan, cells), shares))

    def _moved(self, night: int, rng: np.random.Generator, shift: Floats) -> Floats:
        """Returns the logits of a night."""
        world, logits = self.world, self.logits.copy()
        logits[..., 0] += shift[np.arange(world.n_samples) % N_LABELS, None]
        if world.document_shift:
            documents = np.arange(world.n_samples) // world.n_of_document
            logits[..., 0] += world.document_shift * rng.standard_normal(world.n_samples)[documents, None]
        for fall, name in ((world.fall(night), "all"), (world.class_fall(night), "accuracy of 0")):
            if self.changes and fall:
                own = world.of_class(name)
                logits[own, :, 0] -= _shift_for(self.logits[own], fall)
        return logits

    def varies(self, name: str) -> bool:
        """Returns whether any sample ever had another value on one night than on another."""
        if name == "label_churn":
            return True
        measure = "micro_f1" if name == "lost_samples" or name in CLASSES else name
        values = np.stack(self.values[measure])[:, self.world.of_class(name)]
        known = ~np.isnan(values)
        return bool((np.where(known, values, -np.inf).max(axis=0) > np.where(known, values, np.inf).min(axis=0)).any())

    def nights(self, state: GroupState, night: int, pinned: Sequence[int]) -> tuple[list[int], Nights]:
        """Returns the numbers of the nights that tonight is held against, and tonight's, and the nights themselves."""
        numbers = [*sorted({*state.normal, *state.good, *state.waiting, *pinned}), night]
        return numbers, Nights(night - np.array(numbers), np.isin(numbers, state.normal), np.isin(numbers, pinned))

    def stacked(self, numbers: Sequence[int]) -> dict[str, Floats]:
        """Returns the values of these nights by measure, (n_nights, n_samples) each."""
        return {name: np.stack([values[each] for each in numbers]) for name, values in self.values.items()}

    def apart(self, numbers: Sequence[int]) -> Floats:
        """Returns how differently the same cells were answered on each two of these nights, by sample."""
        shares = np.stack([self.shares[each] for each in numbers])
        known = ~np.isnan(shares[..., 0])
        flat = np.nan_to_num(shares).transpose(1, 0, 2, 3).reshape(self.world.n_samples, len(numbers), -1)
        together = np.matmul(flat, flat.transpose(0, 2, 1))
        cells = np.einsum("tiq,siq->its", known.astype(float), known.astype(float))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(cells > 0, 1 - together / cells, np.nan).transpose(1, 2, 0)

    def spreads(self, state: GroupState, night: int, pinned: Sequence[int] = ()) -> dict[str, NightSpread]:
        """Returns how far neighbouring normal nights lie apart, by measure."""
        numbers, nights = self.nights(state, night, pinned)
        return {name: spread_of(values, nights, self.world.documents) for name, values in self.stacked(numbers).items()}

    def tests(
        self,
        state: GroupState,
        night: int,
        pinned: Sequence[int],
        spreads: Mapping[str, NightSpread],
        shared: Mapping[str, NightSpread],
    ) -> dict[str, WindowTest]:
        """Returns tonight's tests, given the state before, the pinned nights, its spreads and those of all groups."""
        numbers, nights = self.nights(state, night, pinned)
        if len(numbers) == 1:
            return {}
        values, n_wordings, documents = self.stacked(numbers), self.world.n_wordings, self.world.documents
        n_in_classes = {name: (~np.isnan(values["micro_f1"][-1, self.world.of_class(name)])).sum() for name in CLASSES}
        classes = {
            name: "micro_f1" for name, n in n_in_classes.items() if n >= FEWEST_SAMPLES and self.world.has_classes
        }
        tests = {}
        for name, measure in {**dict(zip(values, values, strict=True)), **classes}.items():
            own = self.world.of_class(name)
            tests[name] = window_test(
                values[measure][:, own],
                nights,
                n_wordings,
                None if documents is None else documents[own],
                is_rate=name in RATES,
                spread=spreads[measure],
                shared=shared[measure],
            )
        churn = churn_test(self.apart(numbers), _unpinned(nights), n_wordings, MIN_EFFECT, documents)
        return tests | {"lost_samples": lost_samples(values["micro_f1"], nights), "label_churn": churn}

    def p_in_alarm(self, name: str, state: GroupState, night: int) -> float:
        """Returns the p-value of tonight's values against the bad nights of the alarm; NaN without any, and of label_churn."""
        numbers = [each for each in state.alarm_nights if each not in state.good]
        if not numbers or name not in self.values:
            return np.nan
        numbers.append(night)
        is_normal = np.array(numbers) < night
        nights = Nights(night - np.array(numbers), is_normal, np.zeros_like(is_normal))
        return window_test(
            np.stack([self.values[name][each] for each in numbers]), nights, self.world.n_wordings
        ).p_value


@dataclass(slots=True)
class Month:
    """The states of each group, night by night, and its answers."""

    states: list[list[GroupState]]
    answers: list[Answers]

    def lost(self, group: int, night: int) -> set[int]:
        """Returns the samples of a group that are named as lost on a night, against the 28 before it."""
        right = np.stack([shares[..., 0] for shares in self.answers[group].shares[max(0, night - 28) : night + 1]])
        level = ALARM_LEVEL / right.shape[1]
        return {sample for sample in range(right.shape[1]) if lost_sample(right[:, sample]).p_value <= level}

    def first_alarm(self, group: int, kinds: tuple[str, ...] = ("regressed", "changed", "improved")) -> int | None:
        """Returns the first night on which a group has an alarm of one of these kinds; None without one."""
        return next((night for night, state in enumerate(self.states[group]) if state.kind in kinds), None)

    def has_alarm(self, group: int) -> bool:
        """Returns whether a group ever had an alarm."""
        return self.first_alarm(group) is not None


def live(
    world: World,
    seed: int,
    min_effect: float = MIN_EFFECT,
    accept: Callable[[int], bool] = lambda _: False,
    pinned: Sequence[int] = (),
) -> Month:
    """Returns a month of nights under the nightly rule: model 0 changes in all its tasks as the world says.

    `accept` says on which nights a person accepts the alarms of all groups, before that night is judged; `pinned` are nights that
    hold as what is normal from the one after them on.
    """
    rng = np.random.default_rng(seed)
    answers = [
        Answers(world=world, logits=_logits(world, rng), changes=model == 0, lengths=_lengths(world, seed, model, task))
        for model in range(world.n_models)
        for task in range(world.n_tasks)
    ]
    states = [GroupState() for _ in answers]
    month = Month([[] for _ in answers], answers)
    for night in range(world.n_nights):
        shift = world.shift * rng.standard_normal(N_LABELS)
        load = float(np.exp(world.load * rng.standard_normal())) if world.load else 1.0
        if accept(night):
            states = [state.accepted() for state in states]
        held = [each for each in pinned if each < night]
        for group in answers:
            group.ask(night, rng, shift, load)
        spreads = [group.spreads(state, night, held) for group, state in zip(answers, states, strict=True)]
        shared = {
            name: NightSpread(sum(own[name].q for own in spreads), sum(own[name].n_pairs for own in spreads))
            for name in spreads[0]
        }
        tests = [
            group.tests(state, night, held, own, shared)
            for group, state, own in zip(answers, states, spreads, strict=True)
        ]
        q_values = adjusted(
            [
                [test.p_value if group.varies(name) else np.nan for name, test in own.items()]
                for group, own in zip(answers, tests, strict=True)
            ]
        )
        for place, (group, own, qs) in enumerate(zip(answers, tests, q_values, strict=True)):
            streams = {
                name: StreamNight(
                    test=test,
                    q_value=q,
                    worse=WORSE[name],
                    least_effect=LEAST.get(name),
                    is_rate=name in RATES or name in CLASSES or name == "lost_samples",
                    p_value_in_alarm=group.p_in_alarm(name, states[place], night),
                )
                for (name, test), q in zip(own.items(), qs, strict=True)
            }
            states[place] = next_state(states[place], night, streams, min_effect)
            month.states[place].append(states[place])
    return month


def _unpinned(nights: Nights) -> Nights:
    return nights._replace(is_pinned=np.zeros_like(nights.is_pinned))


def _lengths(world: World, seed: int, model: int, task: int) -> Lengths | None:
    if not world.has_lengths:
        return None
    rng = np.random.default_rng((seed, model, task))
    return Lengths(world=world, rng=rng, is_touchy=model % 2 == 1, changes=model == 0)


def adjusted(p_values: list[list[float]]) -> list[list[float]]:
    """Returns Benjamini-Hochberg's q of p-values over all groups; NaN stays NaN."""
    flat = np.array([p for own in p_values for p in own], float)
    known = ~np.isnan(flat)
    flat[known] = false_discovery_control(flat[known]) if known.any() else flat[known]
    ends = np.cumsum([len(own) for own in p_values])
    return [part.tolist() for part in np.split(flat, ends[:-1])]


def _logits(world: World, rng: np.random.Generator) -> Floats:
    """Returns logits of the labels for each cell: samples differ in difficulty, wordings little, cells somewhat."""
    n, q = world.n_samples, world.n_wordings
    logits = (
        rng.normal(0, 1.0, (n, 1, N_LABELS))
        + rng.normal(0, 0.2, (1, q, N_LABELS))
        + rng.normal(0, 0.5, (n, q, N_LABELS))
    )
    logits *= 1.5
    logits[..., 0] += 2.5
    return logits


def _accuracy(logits: Floats) -> float:
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return float((shares[..., 0] / shares.sum(axis=-1)).mean())


def _shift_for(logits: Floats, fall: float) -> float:
    """Returns by how much less the gold label's logit gives an accuracy that is lower by `fall`."""
    low, high, wanted = (-20.0, 20.0, _accuracy(logits) - fall)
    for _ in range(40):
        middle = (low + high) / 2
        lower = logits.copy()
        lower[..., 0] -= middle
        low, high = (middle, high) if _accuracy(lower) > wanted else (low, middle)
    return low


def _over_cells(values: Floats, shares: Floats) -> Floats:
    """Returns the mean over a sample's cells that were answered; NaN below nine in ten of them."""
    known = ~np.isnan(shares[..., 0])
    expanded = known if values.ndim == 2 else known[..., None]
    counts = known.sum(axis=1)
    sums = np.where(expanded, np.nan_to_num(values), 0.0).sum(axis=1)
    means = sums / np.maximum(counts if values.ndim == 2 else counts[:, None], 1)
    is_enough = counts >= 0.9 * known.shape[1]
    return np.where(is_enough if values.ndim == 2 else is_enough[:, None], means, np.nan)
