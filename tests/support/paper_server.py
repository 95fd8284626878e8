"""The models and judges of the three papers on loopback, each with habits of its own that hold from run to run.

    python -m tests.support.paper_server --child

prints the line of `child_process`. Answers are mostly right; a share of the samples follows the wording, the more the
further a rewording is from the original (rewordings say how far in odd words, more of them at higher temperatures); a few
answers are drawn anew each time, a few are prose and a few are refusals. Judges rule by whether the right answer is said,
and err now and then. As vLLM does, it weighs replies, and gemma refuses a system message.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from tests.support.loopback import child_process, completion_of, error_of, hash_of, say_base_url
from tests.support.openai_server import RunningServer
from tests.support.paper_data import MADE, OPTIONS, OUTCOMES, fact_of, number_of, said, shipped

MODELS = {  # model: the share of samples it knows, of those that follow the wording, and of answers in prose
    "meta-llama/Meta-Llama-3-70B-Instruct": (0.85, 0.25, 0.05),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": (0.7, 0.5, 0.15),
    "gpt-3.5-turbo": (0.75, 0.35, 0.02),
    "gpt-3.5-turbo-0125": (0.75, 0.35, 0.02),
    "gpt-4o-2024-08-06": (0.9, 0.15, 0.01),
    "gpt-4o-mini-2024-07-18": (0.85, 0.2, 0.2),
    "meta-llama/Llama-3.1-8B-Instruct": (0.6, 0.1, 0.4),
    "mistralai/Ministral-8B-Instruct-2410": (0.65, 0.1, 0.3),
    "Qwen/Qwen2-7B-Instruct": (0.55, 0.2, 0.3),
    "google/gemma-2-9b-it": (0.75, 0.1, 0.5),
    "gemini-2.0-flash": (0.9, 0.05, 0.1),
    "gpt-4.1-mini-2025-04-14": (0.92, 0.05, 0.2),
}
CLASSES = {"trec": 6, "cb": 3, "rte": 2, "dbpedia": 14, "wos": 7, **{name: n for name, (_, n) in OUTCOMES.items()}}
ODD = ("prithee", "forsooth", "methinks", "verily", "peradventure", "anon", "hither", "betwixt", "wherefore", "yonder")
RULED_WRONGLY, NOISE, REFUSED = 0.04, 0.03, 0.01
NAMED = re.compile(rf"\b({'|'.join([*CLASSES, *MADE])})-(\d+)\b")
WRONG_FACTS = ("Anna Carvalho", "a stone bridge", "the old mill")


def unit(*parts: object) -> float:
    """Returns a number in [0, 1) that a hash of the parts picks."""
    return hash_of(json.dumps(parts)) / 2**64


def labels_of(task: str) -> list[str]:
    """Returns the labels of a paper's task in the order of their numbers."""
    card = shipped("tasks")[task if task in MADE else f"pss_{task}"]
    return list(card["labels"])


class PaperServer:
    """The handlers, and what they remember: how often a body was asked, and which reply a token is."""

    def __init__(self) -> None:
        self.n_asked: Counter[str] = Counter()
        self.replies: dict[int, str] = {}
        self.labels = {task: labels_of(task) for task in CLASSES}

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        model, messages = body["model"], body["messages"]
        if "gemma" in model and messages[0]["role"] == "system":
            return error_of(400, "System role not supported", "BadRequestError")
        if body.get("continue_final_message"):
            return web.json_response(self.weighed_one(body))
        if "logprob_token_ids" in body:
            return web.json_response(self.weighed(body))
        text = self.said(body)
        n_prompt, n_answer = (max(1, len(written) // 4) for written in (str(messages), text))
        usage = {"prompt_tokens": n_prompt, "completion_tokens": n_answer, "total_tokens": n_prompt + n_answer}
        return web.json_response(completion_of(text) | {"model": model, "usage": usage})

    def said(self, body: Mapping[str, Any]) -> str:
        """What a model says: rewordings, a verdict, or an answer."""
        model, asked = body["model"], body["messages"][-1]["content"]
        key = json.dumps([model, body["messages"]])
        self.n_asked[key] += 1
        instruction = re.search(r"(?s)<instruction>\n(.*)\n</instruction>", asked)
        if instruction is not None:
            return reworded(instruction[1], asked, body.get("temperature") or 1.0, self.n_asked[key])
        marked = re.search(r"(?s)(===== [0-9a-f]{16} =====)\n(.*)\n\1\n", asked)
        if marked is not None:
            return ruled(model, asked[: marked.start()], marked[2])
        prompt = "\n".join(message["content"] for message in body["messages"])
        task, number = NAMED.findall(asked)[-1]
        is_right = self.knows(model, task, int(number), NAMED.sub("", prompt.replace(said(task, int(number)), "")), key)
        if task in CLASSES:
            return self.label(model, task, int(number), is_right, key)
        return answer(model, task, int(number), prompt, is_right)

    def knows(self, model: str, task: str, number: int, wording: str, key: str) -> bool:
        """Whether a model answers a sample rightly under a wording; with a draw anew for every ask of the same."""
        known, follows, _ = MODELS[model]
        n_odd = sum(wording.count(word) for word in ODD)
        knows = unit(model, task, number) < known
        if unit("follows", model, task, number) < follows + 0.1 * n_odd:
            knows = unit("wording", model, task, number, wording) < known - 0.02 * n_odd
        return knows != (unit("noise", key, self.n_asked[key]) < NOISE)

    def label(self, model: str, task: str, number: int, is_right: bool, key: str) -> str:
        """A label, sometimes in prose, and now and then a refusal."""
        labels = self.labels[task]
        wrong = 1 + hash_of(f"{model} {task} {number}") % (len(labels) - 1)
        label = labels[(number + (0 if is_right else wrong)) % len(labels)]
        dressed = unit("dressed", key)
        if dressed < REFUSED:
            return "I'm sorry, I cannot assist with that."
        other = labels[(labels.index(label) + 1) % len(labels)]
        return f"It could be {label}, or else {other}." if dressed < REFUSED + MODELS[model][2] else label

    def weighed_one(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """As vLLM tells the log-probabilities of a prompt's tokens, the last of which is the reply."""
        reply = body["messages"][-1]["content"]
        token = 100 + hash_of(reply) % 100_000
        self.replies[token] = reply
        logprob = self.nats(body["model"], body["messages"][:-1], reply)
        logprobs = [None, {"2": {"logprob": -1.0}}, {str(token): {"logprob": logprob}}]
        return {"prompt_token_ids": [1, 2, token], "prompt_logprobs": logprobs, "choices": [{}]}

    def weighed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """As vLLM tells the log-probabilities of chosen next tokens."""
        top = [
            {"token": f"token_id:{token}", "logprob": self.nats(body["model"], body["messages"], self.replies[token])}
            for token in body["logprob_token_ids"]
        ]
        return {"choices": [{"logprobs": {"content": [{"top_logprobs": top}]}}]}

    def nats(self, model: str, messages: list[dict[str, str]], reply: str) -> float:
        """How likely a model finds a reply: the right one mostly more than others, by templates as it happens."""
        prompt = "\n".join(message["content"] for message in messages)
        _, number = NAMED.findall(prompt)[-1]
        is_right = reads_right(reply, prompt, int(number))
        wording = NAMED.sub("", prompt)
        return -0.05 - 4 * unit(model, wording, reply) + (2.5 * unit(model, "skill", wording) if is_right else 0) - 2.5

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/tokenize", self.tokenize)
        app.router.add_get("/v1/models", self.models)
        return app

    async def tokenize(self, _: web.Request) -> web.Response:
        return web.json_response({"tokens": [1, 2], "count": 2})

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name, "root": name} for name in MODELS]})


def reworded(instruction: str, asked: str, temperature: float, ask: int) -> str:
    """As many rewordings as are asked for, with the more odd words the freer they may be."""
    n = int(re.findall(r"\b\d+\b", asked)[0])
    scale = re.search(r"reword at (\d+(?:\.\d+)?)", asked)
    n_odd = round(2 * float(scale[1])) if scale else round(2 * temperature)
    texts = []
    for place in range(n):
        words = [ODD[hash_of(f"{instruction} {temperature} {ask} {place} {word}") % len(ODD)] for word in range(n_odd)]
        texts.append(f"{instruction} Version {ask}.{place}: {' '.join(words)}".strip())
    return f"Here they are:\n```json\n{json.dumps(texts)}\n```"


def sign_of(option: str, prompt: str) -> str | None:
    """The sign before an option in a prompt."""
    found = re.search(rf"[\[(]?(\w+)[\])]?\s*[.):=]?\s*{re.escape(option)}(?!\d)", prompt)
    return found[1] if found else None


def reads_right(reply: str, prompt: str, number: int) -> bool:
    """Whether a reply names the right option of a question, by its text or its sign."""
    option = f"{OPTIONS[number % 4]} {number}"
    sign = sign_of(option, prompt)
    return option in reply or (sign is not None and re.search(rf"\b{re.escape(sign)}\b", reply) is not None)


def answer(model: str, task: str, number: int, prompt: str, is_right: bool) -> str:
    """An answer in the form that the prompt asks for, or in prose."""
    is_prose = unit("prose", model, NAMED.sub("", prompt)) < 0.6 and unit(model, prompt) < MODELS[model][2]
    if task == "math":
        result = number_of(number) + (0 if is_right else 1)
        return f"It comes to {result} in the end." if is_prose else f"Adding gives \\boxed{{{result}}}."
    if task in ("narrativeqa", "simpleqa"):
        fact = fact_of(number) if is_right else WRONG_FACTS[number % len(WRONG_FACTS)]
        return (
            f"As far as I can tell from what is known of the matter, that would be {fact}, I think."
            if is_prose
            else fact
        )
    option = f"{OPTIONS[(number + (0 if is_right else 1)) % 4]} {number}"
    return f"It should be {option}, as one finds in any handbook." if is_prose else choice(option, prompt)


def choice(option: str, prompt: str) -> str:
    """The choice of an option in the form that the prompt asks for."""
    sign = sign_of(option, prompt) or option
    forms = {
        "text of the right option": option,
        "whole line": f"{sign}. {option}",
        "square brackets": f"[{sign}]",
        "The answer is": f"The answer is ({sign})",
    }
    return next((form for words, form in forms.items() if words in prompt), sign)


def ruled(judge: str, before: str, completion: str) -> str:
    """A judge's reply in the form it is asked for: by the right answer's text or sign, and now and then the other way round."""
    rubric, _, listed = before.rpartition("Reference answers:")
    references = [line[2:] for line in listed.splitlines() if line.startswith("- ")]
    is_match = answers_rightly(references, completion) != (unit("ruled", judge, before, completion) < RULED_WRONGLY)
    reason = "It names the reference." if is_match else "It names another."
    if "grade" in rubric.casefold():
        wrong = "incorrect" if unit("grade", judge, completion) < 0.5 else "not attempted"
        return json.dumps({"reason": reason, "grade": "correct" if is_match else wrong})
    return json.dumps({"reason": reason, "match": is_match})


def answers_rightly(references: Sequence[str], completion: str) -> bool:
    """Whether a completion says one of the references, or the sign before it."""
    texts = [reference.partition(". ")[2] or reference for reference in references]
    signs = [reference.partition(". ")[0] for reference in references if ". " in reference]
    short = re.sub(r"(?i)^(the )?(final )?answer( is)?:?|[\[\]().]", "", completion).strip()
    return short in signs or any(text.casefold() in completion.casefold() for text in texts)


@contextlib.contextmanager
def running_papers() -> Iterator[RunningServer]:
    """The models in a process of their own on a free port of 127.0.0.1; they end with the block."""
    with child_process(__name__, "--child") as (base_url, process):
        yield RunningServer(base_url, process)


async def _serve() -> None:
    import asyncio
    import sys

    runner = web.AppRunner(PaperServer().app(), access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    say_base_url(runner.addresses[0][1])
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    import uvloop

    uvloop.run(_serve())
