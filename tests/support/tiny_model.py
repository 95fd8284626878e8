"""A language model of 140,000 random weights, made in six seconds without a download, for the tests of vLLM.

Run by the interpreter of vLLM's environment, which has transformers, tokenizers and torch:

    infra/vllm/.venv/bin/python tests/support/tiny_model.py FOLDER
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

SEED = 20261121
CONTEXT = 2048
START, END = "<|im_start|>", "<|im_end|>"
CORPUS = (
    "Classify the question by the type of its answer. Reply with the label alone.",
    "number, location, person, description, entity or abbreviation",
    "How many moons has Mars? Who wrote Hamlet? Where is the river Nile? What does NATO stand for?",
    "Is the sentiment of this text positive, negative or neutral? yes no true false",
    "Answer with one letter: A, B, C or D. The answer is A. The answer is B.",
    'user assistant system {"label": "person"} {"answer": "42", "reason": "because"} 0 1 2 3 4 5 6 7 8 9',
)
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    f"{START}{{{{ message['role'] }}}}\n{{{{ message['content'] }}}}{END}\n"
    "{% endfor %}"
    f"{{% if add_generation_prompt %}}{START}assistant\n{{% endif %}}"
)


def make_tiny_model(folder: Path) -> Path:
    """Write a Llama of 2 layers with a byte-level BPE tokenizer and a chat template to `folder`, and return it.

    The weights are the same at every call. They are drawn wide (0.2, not 0.02), so that a greedy answer does not hang
    on the last bits of near ties, and in float32. Heads are 32 wide: the least that vLLM's attention on the CPU takes.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=[START, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(CORPUS, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, pad_token=END, bos_token=START, eos_token=END, model_max_length=CONTEXT
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(folder)

    special = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        initializer_range=0.2,
        dtype="float32",
        **special,
    )
    torch.manual_seed(SEED)
    model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(**special)
    model.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a tiny language model of random weights.")
    parser.add_argument("folder", type=Path)
    make_tiny_model(parser.parse_args().folder)
