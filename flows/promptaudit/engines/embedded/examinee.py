r"""Simulates a model that knows the key: set rules decide what it means and how it says it, each on its own.

With `template_effect` its answers truly change with the template; with `prose` only their phrasing does, into sentences
that scoring rules do not read; with `noise` they change by chance.
"""

from __future__ import annotations

from promptaudit.engines import Question, Request
from promptaudit.engines.embedded.annotator import Annotate, cell_parts
from promptaudit.engines.embedded.draws import uniform
from promptaudit.engines.embedded.field_answers import BARE, DIGITS, NAMES, as_object, field_values, raised
from promptaudit.engines.embedded.matching_judge import matches
from promptaudit.engines.embedded.number_words import in_words
from promptaudit.registry.cards import ModelCard
from promptaudit.registry.errors import EngineError

CHOSEN = (
    "From everything taught about this at school, it would have to be {said}, going by what people remember.",
    "Thinking back to what books tell about this, {said} would fit, as far as memory goes.",
    "People who know about these matters would point to {said} here, going by what they tell.",
    "Going by everything known about this, it has to be {said}, as most people would tell.",
)
"""Wraps an option in a sentence without a sign, a figure, or words that commit to a sign."""

GIVEN = (
    (
        "From everything that people have been taught about matters like this, going back to their first books at school, "
        "it would have to be {said}, as far as anybody can remember such things.\n"
        "That should settle what was asked about here, with nothing further to add from this side."
    ),
    (
        "Thinking back through whatever has been said and written about this matter over a long time, most people would "
        "come out at {said}, going by what they remember of it.\n"
        "Others may put this into different words, yet they would mean the very same thing by them."
    ),
    (
        "Going by what can be told from the way in which this has been put, and after turning it over more than once, it "
        "has to be {said}, as far as anybody can tell.\n"
        "With that everything has been said that seems worth saying about this matter here."
    ),
)
"""Wraps an open answer in many words, few of which are the reference's.

The last line, where rules look for results, is without the answer.
"""


def examinee_annotator(card: ModelCard) -> Annotate:
    r"""Makes a function that answers as `card.examinee` says. Its draws depend on seed, model id and cell alone.

    An answer is right if its draw for the sample lies below `accuracy`, which a template moves by up to
    `template_effect`. A wrong answer is the same for a sample every time, so that its meaning changes only when right
    turns wrong. A template's own share of prose is drawn evenly from 0 to `prose`. A plain answer is the sign of an
    option ("B", "(b)", "B. Paris", "The answer is B."), or the reference, in \boxed{} now and then if the prompt speaks
    of it. In prose it is the option's text or the reference, numbers in words, inside sentences. Without a key an
    answer is drawn, and a classification is answered with its labels. Fields are answered as JSON, each right or wrong
    by a draw of its own.

    Raises ValueError for a card without `examinee`; when asked, EngineError for a request without a question.
    """
    wanted = card.examinee
    if wanted is None:
        msg = f"card of model '{card.model}' does not say what it knows"
        raise ValueError(msg)

    def annotate(request: Request) -> str:
        question = request.question
        if question is None:
            msg = f"model '{request.model_id}' is an examinee, which answers only what comes with its key"
            raise EngineError(msg)
        sample = (card.seed, request.model_id, request.task_id, request.sample_id)
        template = (card.seed, request.model_id, request.prompt_variant_id)
        is_drawn_anew = uniform(*cell_parts("noise", card.seed, request)) < wanted.noise

        def draw_of(*field: str) -> float:
            return uniform(
                *(cell_parts("knows anew", card.seed, request) if is_drawn_anew else ("knows", *sample)), *field
            )

        known = wanted.accuracy + (2 * uniform("effect", *template) - 1) * wanted.template_effect
        in_prose = uniform("prose", *sample, request.prompt_variant_id) < wanted.prose * uniform(
            "prose share", *template
        )
        form = uniform("form", *sample, request.prompt_variant_id)
        if question.fields:
            values = field_values(question, lambda name: draw_of(name) < known, sample)
            return _given(", ".join(filter(None, values.values())), form) if in_prose else as_object(values, form)
        draw = draw_of()
        meant = _meant(question, request.labels, draw, uniform("wrong", *sample), is_right=draw < known)
        return _worded(question, request, meant, form, in_prose=in_prose)

    return annotate


def _meant(question: Question, labels: tuple[str, ...], draw: float, wrong: float, *, is_right: bool) -> int | str:
    n_options = len(question.options or labels)
    order = question.option_order or tuple(range(n_options))  # what is meant is the same in every order
    if n_options and question.gold_index is None:
        return order.index(int(draw * n_options))
    if n_options:
        gold = order[question.gold_index or 0]
        return order.index((gold + (0 if is_right else 1 + int(wrong * (n_options - 1)))) % n_options)
    if not question.references:
        return NAMES[int(draw * len(NAMES))]
    return question.references[0] if is_right else _wrong(question, wrong)


def _wrong(question: Question, draw: float) -> str:
    # another number if a reference has figures, else a made-up name
    first = int(draw * len(NAMES))
    numeric = filter(DIGITS.search, question.references)
    numbers = [raised(reference, first + more) for reference in numeric for more in range(1, 100)]
    return next(answer for answer in (*numbers, *NAMES[first:], *NAMES) if not matches(question, answer)[0])


def _worded(question: Question, request: Request, meant: int | str, form: float, *, in_prose: bool) -> str:
    prompt = "\n".join(content for _, content in request.messages)
    if isinstance(meant, str):
        if in_prose:
            return _given(in_words(meant), form)
        return f"\\boxed{{{meant.strip('$')}}}" if form >= BARE and "\\boxed" in prompt else meant
    words = (question.options or request.labels)[meant]
    # an option that reads as a sign ("3") has no words beside it
    is_sign = words.casefold() in {sign.casefold() for sign in question.signs}
    if in_prose and not is_sign:
        return CHOSEN[int(form * len(CHOSEN))].format(said=words)
    if not question.signs:
        return words
    sign = question.signs[meant]
    shown = next((wrapped for wrapped in (f"({sign})", f"[{sign}]") if wrapped in prompt), sign)
    if form < BARE:
        return shown
    return f"{sign}. {words}" if form < (1 + BARE) / 2 else f"The answer is {shown}."


def _given(said: str, form: float) -> str:
    return GIVEN[int(form * len(GIVEN))].format(said=said)
