"""Finds the language of an instruction by its common words. In doubt it gives none."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from promptaudit.prompts.rephrasers import phrases
from promptaudit.prompts.rephrasers.phrases_by_language import BY_LANGUAGE
from promptaudit.prompts.rephrasers.protected_spans import protected_spans

ENGLISH = "English"
REWORDED = (ENGLISH, *BY_LANGUAGE)
"""The languages that have rules."""
# so much must speak for a language, and twice as much as for English, where words that others have too count half;
# a verb of requests counts twice, in English at the head of a sentence; one of English and another language counts
# for both, in English three times, unless an article of another language is beside it
# in small letters
_FEWEST = 2
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“\n]*“|«[^»\n]*»|`[^`\n]*`")
_WORD = re.compile(r"[^\W\d_]{2,}")  # a letter alone is a variable as often
_ENGLISH = """about after all also an and any are as at be been before below but by can could did dire dis do does
    examiner following for from given had has have he her his how if in into is it its itself just language lee
    lies me more most must my no not of on one only or other our out over please responder resume shall she
    should so some such than that the their them then there these they this those to under up was we were what
    when where which while who whom whose why will with within without would you your"""
_OTHER_REQUESTS = """calculate compute convert count explain fill fix flag generate list map match rank recommend
    rewrite route suggest transcribe verify"""
_ENGLISH_REQUESTS = frozenset({*phrases.VERBS, *_OTHER_REQUESTS.split()})
_OF_ENGLISH = frozenset(_ENGLISH.split()) | {
    word for entry in (*_ENGLISH_REQUESTS, *phrases.OTHERS) for word in entry.split()
}
_HEAD = re.compile(r"(?:^|[.!?:\n]|\bplease|\band|\bthen)[^\w.!?:\n]*([^\W\d_]{2,})(?![^\W\d_]|\s*:)")
_COMMON = {
    "German": """aber als am analyse antwort auf aus bei beim bewertung bist bitte das dass dein deine dem den der des die
    dies diese dieser dieses dir du durch ein eine einem einen einer eines er es frage für gib ihre ihrer ihres im ist
    jede jeden jeder jedes kann kategorie kein keine man mit nach nachricht nicht nur ob oder passt sein seine
    sentiment sich sie sind soll sowie stimmung text textes um und uns vom von vor welche welchem welchen welcher
    welches wenn werden wie wird wurde zu zum zur zwischen über""",
    "French": """au aux avec avis ce ces cet cette chaque comme dans de des dont du elle elles en entre es est et il
    ils je la le les leur leurs mais merci ne nous ou où par pas peu phrase plus pour qu que quel quelle quelles quels
    qui réponse sa sans selon sentiment ses si son sont sous sur texte tu un une veuillez vos votre vous était
    être""",
    "Spanish": """al algo cada categoría cliente como con correo cuál cuáles de del desde donde dos el ella en entre es
    esta estas este estos está están etiqueta etiquetas favor fecha frase ha hay idioma la las lo los mensaje muy
    más ni nombre nombres palabra palabras para pero por pregunta que queja qué respuesta se según ser si siguiente
    siguientes sin sobre son su sus sí también te texto textos tu tus un una unos usted ya""",
    "Catalan": """al amb aquest aquesta categoria client de decideix del dels el els en és la les missatge o per
    positiu pregunta què que respon resposta ressenya segons següent si són text un una""",
    "Portuguese": """ao aos as avalie cada categoria classifique cliente com como da das de do dos duas ela ele em
    entre escolha esta este está foi há isso leia mais mas muito na nas mensagem no nome nos num numa não os ou para
    pela pelo pergunta por quais qual que resenha resposta respostas se sem sentimento ser seu seus sobre sua suas
    também texto um uma você""",
    "Italian": """al alla alle anche categoria che chi ci cliente come con cosa da dal dalla decidi degli dei del
    della delle dello di domanda due era frase gli ha hanno il in la le leggi lo loro ma messaggio nel nome nella non
    ogni oppure per più quale quali quello questa queste questi questo recensione rispondi risposta risposte scegli se
    secondo sei sentimento sono su sua sue sul sulla suo testo tra un una uno valuta""",
    "Dutch": """aan als antwoord beoordeel bepaal bij dat de deze die dit door een en er geef geen haar heeft het hij
    hoe ik is kan maar met naar niet nog of om onder ook op over te tekst tot tussen uit uw van veel volgende voor
    vraag waar wat welke wordt ze zich zijn zin zo zonder""",
    "Polish": """albo ale czy dla do ich jak jako jego jej jest lub ma na nie od oraz po pod przez się są tego tej ten
    to tylko we według za ze że""",
    "Swedish": """att av de den det din efter eller en ett från för har hur inte kan man med mellan någon och om på
    som så till ur vad var varje vid vilken vilket är även""",
    "Danish or Norwegian": """af at av de den det din efter eller en er et etter for fra han har hva hvad hver hvilken
    hvilket hvis hvor ikke kan man med mellem mellom når og om på som så til ved være""",
    "Finnish": """ei että hän ja joka joko jos jotka kuin kun mikä mitä mukaan myös ne ole on onko ovat se sekä sen
    siitä tai tämä tämän vai""",
    "Czech": """aby ale byl být co do jak jako je jeho její jsou která které který li na nebo není od po podle pro při
    se tak tento této ve za že""",
    "Hungarian": """alapján az azt de egy ha hogy is kell kérem legyen meg mely melyik milyen minden nem szerint
    szöveg vagy van és""",
    "Romanian": """al ale asupra ca care ce cea cele cu dacă de din dintre este fie la mai nu pe pentru prin sau se si
    sunt un unei unui va în și""",
    "Turkish": """bir bu da daha de değil en gibi göre her ile için metin mi mu mü ne olan olarak olup ve veya""",
    "Indonesian": """adalah akan anda apakah atau berikut dalam dan dari dengan di dua ini itu ke oleh pada sebagai
    serta setiap teks tidak untuk yang""",
}
_REQUESTS_WITHOUT_RULES = {
    "Portuguese": """analise atribua compare decida decide determina determine extraia identifica identifique indica
    indique leia responda responde resuma resume selecione traduza verifica verifique""",
    "Italian": """analizza assegna classifica compara confronta decidi determina estrai identifica indica leggi
    riassumi rispondi scegli seleziona traduci valuta verifica""",
}
_REQUESTS = {
    **{name: words.requests for name, words in BY_LANGUAGE.items()},
    **{name: frozenset(words.split()) for name, words in _REQUESTS_WITHOUT_RULES.items()},
}
_REQUESTS_OF_ANY = frozenset[str]().union(*_REQUESTS.values())
_OF_BOTH = frozenset({"analyse", "sentiment", "text"})
_ARTICLES = frozenset({"das", "dem", "den", "der", "des", "die", "du", "el", "il", "la", "las", "le", "les", "los"})
_OTHERS = {name: frozenset(words.split()) - (_OF_ENGLISH - _OF_BOTH) for name, words in _COMMON.items()}
_ENGLISH_ALONE = _OF_ENGLISH.difference(*(words.split() for words in _COMMON.values()), _REQUESTS_OF_ANY)
_SIGNS = {
    "German": "ß",
    "French": r"(?i:\btu es\b)",
    "Spanish": r"[¿¡ñ]|(?:ción|ciones|dad|encia|miento)\b",
    "Catalan": r"ció\b|·",
    "Portuguese": r"[ãõ]|dade\b",
    "Italian": r"(?:zione|zioni|tà)\b",
}


def language_of(text: str, protected: Iterable[str] = ()) -> str | None:
    """Names the language of a text, by the words that are not quoted, protected or placeholders. None where that is unclear.

    A text of mostly other letters than Latin ones gives the name of its script, such as "Cyrillic script". Where two
    languages have as much for them, both are named: "Spanish or Portuguese".
    """
    text = _QUOTED.sub(" ", protected_spans(protected).sub(" ", unicodedata.normalize("NFKC", text)))
    letters = [character for character in text if character.isalpha()]
    scripts = Counter(unicodedata.name(letter, "?").split(maxsplit=1)[0] for letter in letters)
    script, n = next(iter(scripts.most_common(1)), ("LATIN", 0))
    if script != "LATIN" and 2 * n > len(letters):
        return _SCRIPTS.get(script, f"{script.capitalize()} script")
    before, colon, behind = text.partition(":")
    if colon and _asks_in_english(before, behind):
        text = re.sub(":.*", " ", text)  # behind the colons of an English request: lists, fields and examples
    return _most_likely(text)


def unknown_language(language: str, rephraser: str) -> str:
    """Writes why a rephraser of kind `rules` cannot reword a language, and what can."""
    known = f"{', '.join(REWORDED[:-1])} and {REWORDED[-1]}"
    return (
        f"it is in {language}, and rephraser '{rephraser}' of kind `rules` rewords {known}: name a rephraser with "
        "`kind: model` and `model` in rephrasing.rephraser"
    )


_SCRIPTS = {"CJK": "Chinese or Japanese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


def _asks_in_english(before: str, behind: str) -> bool:
    words, n_english = _words(before), _n_english(before)
    if len(words) == 1:
        return words[0] in _ENGLISH_ALONE & _ENGLISH_REQUESTS and not _REQUESTS_OF_ANY.intersection(_words(behind))
    return n_english > 0 and n_english + _n_shared(before) >= _FEWEST and _most_likely(before) == ENGLISH


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _most_likely(text: str) -> str | None:
    words = _words(text)
    n_english, n_shared = _n_english(text), _n_shared(text)
    found = {name: _n_for(name, words) + bool(re.search(_SIGNS.get(name, "(?!)"), text)) for name in _OTHERS}
    most = max(found.values())
    if most < max(_FEWEST + bool(n_english), 2 * n_english, n_english + n_shared + 1):
        return ENGLISH if any(word in _OF_ENGLISH for word in words) else None
    return " or ".join(name for name, count in found.items() if count == most)


def _n_english(text: str) -> int:
    heads = _HEAD.findall(text.casefold())
    return sum(word in _ENGLISH_ALONE for word in _words(text)) + sum(
        word in _ENGLISH_ALONE & _ENGLISH_REQUESTS for word in heads
    )


def _n_shared(text: str) -> int:
    words = _WORD.findall(text)
    return sum(
        3 if word in _REQUESTS_OF_ANY else 1
        for place, word in enumerate(_words(text))
        if word in _OF_ENGLISH - _ENGLISH_ALONE and not _ARTICLES.intersection(words[max(place - 1, 0) : place + 2])
    )


def _n_for(name: str, words: Iterable[str]) -> int:
    requests = _REQUESTS.get(name, ())
    return sum((word in _OTHERS[name]) + 2 * (word in requests) for word in words)
