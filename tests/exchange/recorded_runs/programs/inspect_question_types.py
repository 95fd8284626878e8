"""Questions whose answers a mock model gives: run by inspect_ai, no network."""

import sys

from inspect_ai import Task, task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice, exact
from inspect_ai.solver import generate, multiple_choice, prompt_template

QUESTIONS = [
    ("q1", "How many moons has Mars?", "number"),
    ("q2", "Where is the Eiffel Tower?", "location"),
    ("q3", "Who wrote Hamlet?", "person"),
    ("q4", "How long is a marathon?", "number"),
    ("q5", "Which city hosts the Louvre?", "location"),
    ("q6", "Who painted Guernica?", "person"),
    ("q7", "How many bones has a hand?", "number"),
    ("q8", "Who was the first on the Moon?", "person"),
]
MODEL = "mockllm/meta-llama/mock-7b"
PLAIN = "Classify the question by the type of its answer. Reply with number, location or person alone.\n\n{prompt}"
POLITE = "Please say whether the answer to the following question is a number, a location or a person.\n{prompt}\nOne word only."


def samples():
    return MemoryDataset([Sample(id=i, input=q, target=t) for i, q, t in QUESTIONS], name="questions")


@task
def question_type(template=PLAIN):
    return Task(dataset=samples(), solver=[prompt_template(template), generate()], scorer=exact())


CHOICES = [
    (1, "Which planet is nearest to the Sun?", ["Venus", "Mercury", "Mars", "Earth"], "B"),
    (2, "Which metal is liquid at room temperature?", ["Mercury", "Iron", "Gold", "Zinc"], "A"),
    (3, "Which gas do plants take in?", ["Oxygen", "Helium", "Carbon dioxide", "Neon"], "C"),
    (4, "Which is the largest ocean?", ["Atlantic", "Arctic", "Indian", "Pacific"], "D"),
    (5, "Which is a prime number?", ["9", "15", "17", "21"], "C"),
]


@task
def facts(epochs=2):
    data = MemoryDataset([Sample(id=i, input=q, choices=c, target=t) for i, q, c, t in CHOICES], name="facts")
    return Task(dataset=data, solver=[multiple_choice()], scorer=choice(), epochs=epochs)


def mock(answers):
    """Returns a mock model that gives the answers in their order, with the tokens that a real one would report."""
    left = iter(answers)

    def answer(input, tools, tool_choice, config):
        output = ModelOutput.from_content(MODEL, next(left))
        output.usage = ModelUsage(
            input_tokens=len(input[-1].text.split()), output_tokens=3, total_tokens=len(input[-1].text.split()) + 3
        )
        return output

    return get_model(MODEL, custom_outputs=answer)


PLAIN_ANSWERS = [
    "number",
    "location",
    "person",
    "number",
    "The Louvre is in Paris: location",
    "person",
    "location",
    "person",
]
POLITE_ANSWERS = ["number", "location", "number", "number", "location", "location", "number", "number"]
LETTERS = [
    "ANSWER: B",
    "ANSWER: A",
    "ANSWER: C",
    "ANSWER: D",
    "ANSWER: B",
    "ANSWER: B",
    "ANSWER: D",
    "ANSWER: C",
    "ANSWER: D",
    "I would say ANSWER: C",
]

if __name__ == "__main__":
    how = {"log_dir": sys.argv[1], "display": "plain", "max_samples": 1, "log_realtime": False, "log_model_api": False}
    evaluate(question_type(), model=mock(PLAIN_ANSWERS), log_format="eval", **how)
    evaluate(question_type(template=POLITE), model=mock(POLITE_ANSWERS), log_format="eval", **how)
    evaluate(facts(), model=mock(LETTERS), log_format="json", limit=3, **how)
