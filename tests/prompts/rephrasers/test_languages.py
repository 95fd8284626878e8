"""Rules in German, French and Spanish: each wording below was read by a person for its grammar and for what it asks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from promptaudit.prompts.rephrasers import Wording
from promptaudit.prompts.rephrasers.by_rules import RulesRephraser
from promptaudit.prompts.rephrasers.languages import language_of
from promptaudit.prompts.rephrasers.templates import ByStretch
from promptaudit.registry.cards import RephraserCard
from promptaudit.registry.registry import load_registry

ANSWERS = Path(__file__).parents[2] / "recorded_answers"
READ = {
    "Klassifiziere die Frage nach der Art ihrer Antwort.": [
        "Ich bitte dich, die Frage nach der Art ihrer Antwort zu klassifizieren.",
        "Aufgabe: Kategorisiere bitte die Frage nach der Art ihrer Antwort. Bitte alles berücksichtigen, was geschrieben steht.",
        "Kategorisiere die Frage nach der Art ihrer Antwort. Danke.",
        "Du arbeitest sorgfältig. Du sollst die Frage nach der Art ihrer Antwort klassifizieren.",
        "Kategorisiere die Frage nach der Art ihrer Antwort.",
    ],
    "Geben Sie an, ob die folgende Nachricht dringend ist.": [
        "Ich bitte Sie, anzugeben, ob die nachstehende Nachricht dringend ist.",
        "Geben Sie an, ob die nachstehende Nachricht dringend ist.",
        "Ihre Aufgabe lautet: Geben Sie an, ob die nachstehende Nachricht dringend ist.",
        "Geben Sie bitte an, ob die folgende Mitteilung dringend ist.",
        "Ich bitte Sie um Folgendes: Geben Sie an, ob die folgende Mitteilung dringend ist. Danke.",
    ],
    "Lies den Text und bewerte ihn als positiv oder negativ.": [
        "Die Aufgabe lautet: Lies den Text und beurteile ihn als positiv oder negativ.",
        "Bitte lies den Text und bewerte ihn als positiv oder negativ.",
        "Lies bitte den Text und bewerte ihn als positiv oder negativ.",
        "Lies den Text und bewerte ihn als positiv oder negativ. Bitte sorgfältig und einheitlich vorgehen.",
        "Du hilfst einem Forschungsteam. Lies den Text und bewerte ihn als positiv oder negativ.",
    ],
    "Classez la question selon le type de sa réponse.": [
        "Prière de catégoriser la question selon le genre de sa réponse.",
        "Votre tâche consiste à catégoriser la question d'après le type de sa réponse.",
        "Il s'agit de classer la question d'après le type de sa réponse.",
        "Pouvez-vous classer la question d'après le type de sa réponse ?",
        "Vous aidez une équipe de recherche. Nous avons besoin de votre aide. Classez la question selon le genre de sa réponse.",
    ],
    "Lis le message et indique si le client est satisfait.": [
        "Tu aides une équipe de recherche. La consigne est la suivante : lis le message et indique si le client est satisfait.",
        "Lis le message et indique si le client est satisfait, s'il te plaît.",
        "Lis le message et indique si le client est satisfait. Le soin et la cohérence sont importants.",
        "Tâche : S'il te plaît, lis le message et indique si le client est satisfait.",
        "La consigne est la suivante : lis le message et précise si le client est satisfait.",
    ],
    "Évaluer la gravité de la plainte.": [
        "Il s'agit d'apprécier la gravité de la plainte.",
        "Voici la tâche. Il s'agit d'apprécier la gravité de la plainte.",
        "Il s'agit d'apprécier la gravité de la plainte. En cas de doute, c'est le plus probable qui compte.",
        "Apprécier la gravité de la plainte.",
        "Il faut évaluer la gravité de la plainte.",
    ],
    "Clasifica la pregunta según su tipo.": [
        "Conoces bien este tipo de tareas. La instrucción es esta: clasifica la pregunta según su tipo.",
        "Esta es tu tarea. El objetivo es categorizar la pregunta según su tipo.",
        "La tarea consiste en clasificar la pregunta según su tipo.",
        "Conoces bien este tipo de tareas. Sigue esta instrucción: Categoriza la pregunta según su tipo. Cada detalle cuenta.",
        "Conoces bien este tipo de tareas. Tienes que categorizar la pregunta de acuerdo con su tipo.",
    ],
    "Lea la reseña y decida si es buena.": [
        "Por favor, lea la reseña y determine si es buena.",
        "Lea la reseña y determine si es buena, por favor.",
        "La instrucción es esta: lea la reseña y determine si es buena.",
        "La instrucción es esta: lea la reseña y determine si es buena. El cuidado y la coherencia son importantes.",
        "Lea la reseña y determine si es buena.",
    ],
    "Asigna exactamente una categoría al mensaje {input}.": [
        "Tu tarea es atribuir una sola categoría al mensaje {input}. Hay que tener en cuenta todo lo que está escrito.",
        "Asigna exactamente una clase al mensaje {input}. El cuidado y la coherencia son importantes.",
        "¿Puedes asignar exactamente una clase al mensaje {input}?",
        "Se pide asignar exactamente una categoría al mensaje {input}.",
        "Sigue esta instrucción: Atribuye exactamente una clase al mensaje {input}, por favor.",
    ],
    "¿Cuál es el tema del texto?": [
        "¿Cuál es el tema del texto? En caso de duda, vale lo más probable.",
        "La pregunta es esta: ¿Cuál es el tema del texto?",
        "Esta es la pregunta: ¿Cuál es el tema del texto?",
        "Esta es la tarea. Se pregunta lo siguiente: ¿Cuál es el tema del texto?",
        "Tarea: Esta es la pregunta: ¿Cuál es el tema del texto?",
    ],
}


def reword(text: str, n: int, temperature: float | None = 1.5) -> list[str]:
    rephraser = RulesRephraser(RephraserCard(kind="rules"))
    wording = Wording("task", text, ("positiv", "negativ", "{input}"))
    return list(asyncio.run(rephraser.rephrase(wording, n, temperature, 0)))


@pytest.mark.parametrize("instruction", READ)
def test_wordings_are_those_that_were_read(instruction: str) -> None:
    assert reword(instruction, 5) == READ[instruction]


@pytest.mark.parametrize("instruction", [*READ, "Klassifizieren Sie Sätze.", "Décidez.", "¿Es grave?"])
@pytest.mark.parametrize("temperature", [None, 0, 5])
def test_thirty_distinct_wordings_and_no_english(instruction: str, temperature: float | None) -> None:
    wordings = reword(instruction, 30, temperature)
    assert len(set(wordings)) == 30
    assert {language_of(wording) for wording in wordings} == {language_of(instruction)}


@pytest.mark.parametrize(
    ("instruction", "wording", "wrong"),
    [
        (
            "Klassifiziere den Text bzw. die Nachricht nach Thema.",
            "Du sollst den Text bzw. die Nachricht nach Thema klassifizieren.",
            "bzw klass",
        ),
        (
            "Klassifiziere die Nachricht nach Themen wie z. B. Sport.",
            "Du sollst die Nachricht nach Themen wie z. B. Sport klassifizieren.",
            "z klass",
        ),
        (
            "Classe le message par thème, p. ex. facture.",
            "Classe le message par thème, p. ex. facture, s'il te plaît.",
            "p, s'il te",
        ),
        (
            "Clasifica el mensaje por tema, p. ej. factura.",
            "Clasifica el mensaje por tema, p. ej. factura, por favor.",
            "p, por favor",
        ),
        ("Clasifica la opinión del Sr. Pérez.", "Hay que clasificar la opinión del Sr. Pérez.", "Sr, por favor"),
        (
            "Klassifiziere den Text\nAntworte mit einem Wort",
            "Kategorisiere den Text\nAntworte mit einem Wort",
            "klassifizieren",
        ),
        ("Sage das Thema voraus.", "Sage bitte das Thema voraus.", "sagen"),
        ("Schreibe den Satz um.", "Schreibe bitte den Satz um.", "schreiben"),
        ("Lies den Text durch.", "Lies bitte den Text durch.", "durch lesen"),
        ("Entscheide dich für eine Kategorie.", "Bitte entscheide dich für eine Kategorie.", "entscheiden"),
        ("Entscheiden Sie sich für ja.", "Bitte entscheiden Sie sich für ja.", "zu entscheiden"),
        (
            "Détermine le sentiment, renvoie du JSON.",
            "S'il te plaît, détermine le sentiment, renvoie du JSON.",
            "déterminer",
        ),
        (
            "Choisis un thème; ne justifie pas ton choix.",
            "S'il te plaît, choisis un thème; ne justifie pas ton choix.",
            "choisir",
        ),
        ("Elige un tema, devuelve JSON.", "Por favor, elige un tema, devuelve JSON.", "elegir"),
        ("Bewerte den Aufsatz der Klasse 5.", "Beurteile den Aufsatz der Klasse 5.", "Kategorie"),
        ("Klassifiziere die Nachrichten.", "Kategorisiere die Nachrichten.", "Mitteilung"),
        ("Identifie si le texte est ironique.", "Il faut identifier si le texte est ironique.", "repère"),
        ("Évaluer le ton du message.", "Il faut évaluer le ton du message.", "Tu "),
    ],
)
def test_meaning_and_grammar_stay(instruction: str, wording: str, wrong: str) -> None:
    wordings = reword(instruction, 150)
    assert wording in wordings
    assert not [each for each in wordings if wrong.casefold() in each.casefold()]


def test_the_reader_is_addressed_as_the_instruction_does() -> None:
    formal = " ".join(reword("Bewerten Sie die Beschwerde.", 200, 3))
    assert " Sie " in formal
    assert not {"du", "dich", "deine", "Deine", "Du"} & set(formal.replace(".", " ").split())
    assert " vous " not in " ".join(reword("Évalue la gravité de la plainte.", 200, 3))
    assert "usted" not in " ".join(reword("Evalúa la gravedad de la queja.", 200, 3)).casefold()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Klassifiziere Rezensionen", "German"),
        ("Gib an, ob der Text ironisch ist.", "German"),
        ("Classer le texte.", "French"),
        ("Clasifica opiniones", "Spanish"),
        ("Determine whether the sentence 'Der Mann ist nicht da' is a question.", "English"),
        ('Translate "die Frau und der Mann sind nicht da" into English.', "English"),
        ("Decide", "English"),
        ("Détecte les spams.", "French"),
        ("Sentiment", "English"),
        ("PII?", None),
        ("Classifica la recensione secondo il suo tono e dì se è positiva.", "Italian"),
        ("Classifique a resenha de acordo com o sentimento do autor.", "Portuguese"),
        ("Bepaal of de recensie positief is en geef het antwoord.", "Dutch"),
        ("Определи тональность отзыва.", "Cyrillic script"),
        ("分类这句话的情感。", "Chinese or Japanese"),
        ("Indica la categoria del testo.", "Italian"),
        ("Verifica se la risposta è corretta.", "Italian"),
        ("Indique se o texto é positivo ou negativo.", "Portuguese"),
        ("Identifica il sentimento.", "Italian"),
        ("Determina il tono del messaggio.", "Italian"),
        ("Compara le due risposte.", "Italian"),
        ("Responda com a categoria.", "Portuguese"),
        ("Resuma o texto.", "Spanish or Portuguese"),
        ("Indica la categoria del text.", "Italian"),
        ("Tu es un classificateur.", "French"),
        ("Ist der Text ironisch?", "German"),
        ("Lies dir den Text durch.", "German"),
        ("Analyse le sentiment.", "French"),
        ("Resume el texto.", "Spanish"),
        ("Determine la polaridad.", "Spanish"),
        ("Text klassifizieren: positiv, negativ", "German"),
        ("Sentiment du texte ?", "French"),
        ("Decide si es positivo.", "Spanish"),
        ("Stimmung des Textes?", "German"),
        ("Welche Kategorie passt?", "German"),
        ("Return ISO codes: de, es, da, la, le, no.", "English"),
        ("Choose ser or estar. Options: es, está, son, están, ser", "English"),
        ("Detect PII: nome, cognome, data di nascita, codice fiscale del cliente", "English"),
        ("Fill the gap with der, die, das, den, dem or des.", "English"),
        ("Classify restaurant: Le Bernardin, La Grenouille, Les Halles, Chez Panisse", "English"),
        ("Recommend wine: Château de la Tour, Domaine des Baumards, Clos du Val", "English"),
        ("Extract fields: nom du client, date de la facture, total", "English"),
        (
            (
                "Is the translation right? English: the cat is on the table. "
                "French: le chat est sur la table et il est dans la maison avec les enfants."
            ),
            "English",
        ),
        ("Classify legal clauses: de facto, de jure, per se", "English"),
        ("Find medication dosing: q.d., b.i.d., per os, per rectum, ad lib, in vitro, in vivo, et al.", "English"),
        ("Classify: Le Bernardin, La Grenouille, Les Halles, Chez Panisse", "English"),
        ("Label: Gib die Stimmung an.", "German"),
        ("Compare Los Angeles and Las Vegas.", "English"),
        ("Decide pro / con / neutral.", "English"),
        ("Verifica la fecha.", "Spanish"),
        ("Compare los dos textos.", "Spanish"),
        ("Indique le thème.", "French"),
        ("Identifica la emoción.", "Spanish"),
        ("Determina el tono.", "Spanish"),
        ("Analyse: Ist der Text ironisch?", "German"),
        ("Klassifiziere das Review.", "German"),
    ],
)
def test_a_language_is_known_by_its_common_words_or_its_letters(text: str, language: str | None) -> None:
    assert language_of(text) == language


def test_no_english_is_taken_for_another_language() -> None:
    registry = load_registry()
    texts = [registry.task(name).instruction for name in registry.entries["tasks"]]
    texts += [each.content for name in registry.entries["tasks"] for each in registry.task(name).messages]
    texts += [each.text for name in registry.entries["templates"] for each in registry.templates(name).templates]
    rows = [
        json.loads(line) for name in ("known", "unseen") for line in (ANSWERS / f"{name}.jsonl").open(encoding="utf-8")
    ]
    answers = [row["completion"] for row in rows if row["language"] == "en"]
    assert len(texts) > 60
    assert {language_of(text) for text in texts} <= {"English", None}
    # a count alone, since nobody reads the unseen ones: one of 1,655, of twelve words without one that is English alone
    assert sum(language_of(text) not in ("English", None) for text in answers) <= 1


@pytest.mark.parametrize("name", ["known", "unseen"])
def test_most_answers_of_six_words_are_known_to_be_german_french_or_spanish(name: str) -> None:
    rows = [json.loads(line) for line in (ANSWERS / f"{name}.jsonl").open(encoding="utf-8")]
    for code, language in (("de", "German"), ("fr", "French"), ("es", "Spanish")):
        found = [
            language_of(row["completion"])
            for row in rows
            if row["language"] == code and row["completion"].count(" ") > 4
        ]
        assert sum(each == language for each in found) >= 0.7 * len(found) > 8


def test_a_language_without_rules_is_not_reworded() -> None:
    assert reword("Classifica la recensione secondo il suo tono e dì se è positiva.", 5) == []


def test_a_short_stretch_of_a_template_is_in_the_language_of_the_whole() -> None:
    text = "Beantworte die Frage und gib nur den Namen an.\n{question}\nKurz und knapp."
    wordings = asyncio.run(
        ByStretch(RulesRephraser(RephraserCard(kind="rules"))).rephrase(
            Wording("task", text, ("{question}",)), 20, 2, 0
        )
    )
    assert len(set(wordings)) == 20
    assert {language_of(wording) for wording in wordings} == {"German"}
