"""What is a refusal in the usual words, and what only sounds like one."""

from __future__ import annotations

import unicodedata

import pytest

from promptaudit.udfs.readers.reading import read_answer

LABELS = ("billing", "delivery")


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, I cannot assist with this request.",
        "Sorry, I can't answer that.",
        "I cannot classify this message.",
        "I can not provide an answer.",
        "I am unable to determine the category.",
        "Unfortunately, I am not able to help.",
        "As an AI language model, I have no opinion.",
        "As an artificial intelligence I do not judge people.",
        "I must respectfully decline.",
        "I'm afraid I can't do that.",
        "My apologies, I cannot help with this.",
        "Apologies, but I cannot comply.",
        "I'm an AI and cannot judge people.",
        "Désolé, je ne peux pas répondre.",
        "**I won't engage with this.**",
        "Es tut mir leid, dabei kann ich nicht helfen.",
        "Je suis désolé, mais je ne peux pas répondre.",
        "Lo siento, no puedo ayudar con eso.",
        "抱歉,我无法回答这个问题。",
        "申し訳ありませんが、お答えできません。",
        "很抱歉，我无法回答这个问题。",
        "我無法回答",
        "抱歉我无法回答",
        "我无法对此进行分类",
        "对不起，我不能提供这些内容。",
        "Ich kann diese Anfrage nicht beantworten.",
        "Leider kann ich diese Anfrage nicht bearbeiten.",
        "Ich bin nicht in der Lage, das zu tun.",
        "Leider bin ich nicht in der Lage, das zu beantworten.",
        "Es tut mir leid, aber ich kann Ihnen dabei nicht helfen.",
        "Tut mir leid, aber das kann ich nicht beantworten.",
        "Ich kann dir dabei leider nicht helfen.",
        "Sinto muito, mas não posso ajudar",
        "Infelizmente, não posso responder a isso.",
        "Desculpe, não posso ajudar com isso.",
        "Desculpe, mas não consigo ajudar com isso.",
        "Não posso te ajudar",
        "Malheureusement, je ne peux pas répondre à cette question.",
        "Je suis désolé, mais je ne peux pas vous aider.",
        "Je ne peux pas t'aider avec ça",
        "Je suis désolée, je ne suis pas en mesure de répondre",
        "Purtroppo non posso aiutarti",
        "Mi dispiace, ma non posso aiutarti con questa richiesta.",
        "Non posso rispondere",
        "Disculpa, no puedo ayudarte con eso",
        "Lo siento, pero no puedo responder a esa pregunta.",
        "No puedo cumplir con esa solicitud",
        "すみませんが、お答えできません",
        "申し訳ありませんが、その質問にはお答えできません。",
        "申し訳ございませんが、そのリクエストには対応できません。",
        "申し訳ありませんが、お手伝いできません。",
        "その質問には回答できません",
        "도와드릴 수 없습니다",
        "미안하지만 도와줄 수 없어요",
        "죄송하지만 그 질문에는 답변할 수 없습니다.",
        "죄송합니다. 도와드릴 수 없습니다",
        "죄송합니다만, 해당 요청은 처리할 수 없습니다.",
        "I cannot generate that",
        "I can't write that",
        "I can't in good conscience answer",
        "I can't, in good conscience, do so",
        "I'm not going to help with that",
        "I'm not going to write that.",
        "I´m sorry, but I can´t help",
        "I`m sorry, I can`t assist",
        "As an AI, I cannot",
        "I am an AI assistant and cannot",
        "I'm an AI language model",
        "对不起，无法回答",
        "很遗憾，我不能协助",
    ],
)
def test_a_refusal(text: str) -> None:
    for form in ("NFC", "NFD"):
        reading = read_answer(unicodedata.normalize(form, text), '"exact"', LABELS)
        assert (reading.is_refusal, reading.label) == (True, None), form


@pytest.mark.parametrize(
    "text",
    [
        "The customer is sorry.",
        "Lo siento, la película fue mala: neg",
        "Mi dispiace, la risposta è neutra",
        "desculpe, a resposta é B",
        "抱歉，答案是B",
        "申し訳ありませんが、答えはBです",
        "죄송하지만 답은 B",
        "no puedo creer lo bueno que es",
        "non posso che dire positivo",
        "As an AI researcher I'd say B",
        "I'm an AI enthusiast",
        "I'm not going to lie, it is B",
        "Es tut mir leid, die Antwort ist B",
        "Désolé, la réponse est B",
        "Je ne peux pas me connecter",
        "Ich kann mich nicht einloggen",
        "我不能登录",
        "Não posso acreditar",
        "Leider kam das Paket zu spät",
        "Entschuldigung, B",
        "Malheureusement, le film est nul",
        "Infelizmente o pacote atrasou",
        "Unfortunately, the parcel is late.",
        "I can see two problems here.",
        "It says: I cannot help you.",
        "I think it is about a bill",
        "An AI could answer this",
        "Sorry about the parcel",
        "I am sorry the parcel came late, it is a shipping problem",
        "As an airline passenger the writer is upset",
        "As an aid to the reader: no label",
        "I cannot download my invoice",
        "I can't donate again",
        "no puedox",
        "\u5ba2\u6237\u8bf4\u6211\u4e0d\u80fd\u767b\u5f55",  # the customer says: I cannot log in
        "\u041f\u0438\u0448\u0435\u0442: I cannot help",
    ],
)
def test_no_refusal(text: str) -> None:
    assert not read_answer(text, '"exact"', LABELS).is_refusal


def test_a_label_is_read_before_anything_is_a_refusal() -> None:
    reading = read_answer("I'm sorry, but I can't tell for sure: billing", '"label_in_text"', LABELS)
    assert reading.label == "billing"
    assert not reading.is_refusal


def test_a_tasks_own_pattern_stands_in_their_place() -> None:
    assert not read_answer("I'm sorry, I can't help.", '"exact"', LABELS, "^NO$").is_refusal
    assert read_answer("NO", '"exact"', LABELS, "^NO$").is_refusal


def test_an_open_answer_is_no_refusal_of_itself() -> None:
    assert not read_answer("I'm sorry, I can't help.", '"open"', ()).is_refusal
