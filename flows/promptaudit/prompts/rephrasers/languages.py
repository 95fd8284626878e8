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
# a verb of requests counts twice
_FEWEST = 2
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“\n]*“|«[^»\n]*»|`[^`\n]*`")
_WORD = re.compile(r"[^\W\d_]{2,}")  # a letter alone is a variable as often
_ENGLISH = """about after all also an and any are as at be been before below but by can could did dire dis do does
    examiner following for from given had has have he her his how if in into is it its itself just language lee
    lies me more most must my no not of on one only or other our out over please responder resume shall she
    should so some such than that the their them then there these they this those to under up was we were what
    when where which while who whom whose why will with within without would you your"""
_OF_ENGLISH = frozenset(_ENGLISH.split()) | {
    word for entry in (*phrases.VERBS, *phrases.OTHERS) for word in entry.split()
}
_COMMON = {
    "German": """aber als am antwort auf aus bei beim bewertung bitte das dass dein deine dem den der des die dies
    diese dieser dieses durch ein eine einem einen einer eines er es frage für gib ihre ihrer ihres im ist jede
    jeden jeder jedes kann kein keine man mit nach nachricht nicht nur ob oder sein seine sich sie sind soll
    sowie um und uns vom von vor welche welchem welchen welcher welches wenn werden wie wird wurde zu zum zur
    zwischen über""",
    "French": """au aux avec avis ce ces cet cette chaque comme dans de des dont du elle elles en entre est et il
    ils je la le les leur leurs mais merci ne nous ou où par pas peu phrase plus pour qu que quel quelle quelles
    quels qui réponse sa sans selon ses si son sont sous sur texte tu un une veuillez vos votre vous était être""",
    "Spanish": """al algo cada como con cuál cuáles de del desde donde el ella en entre es esta estas este estos
    está están favor frase ha hay la las le lo los mensaje muy más ni para pero por pregunta que qué respuesta se
    según ser si sin sobre son su sus también te texto tu tus un una unos usted ya""",
    "Portuguese": """ao aos as avalie cada classifique com como da das de do dos ela ele em entre escolha esta
    este está foi há isso leia mais mas muito na nas no nos num numa não os ou para pela pelo pergunta por quais
    qual que resenha resposta se sem ser seu seus sobre sua suas também texto um uma você""",
    "Italian": """al alla alle anche che chi ci come con cosa da dal dalla decidi degli dei del della delle dello
    di domanda era frase gli ha hanno il in la le leggi lo loro ma nel nella non ogni oppure per più quale quali
    quello questa queste questi questo recensione rispondi risposta scegli se secondo sei sono su sua sue sul
    sulla suo testo tra un una uno valuta""",
    "Dutch": """aan als antwoord beoordeel bepaal bij dat de deze die dit door een en er geef geen haar heeft het
    hij hoe ik is kan maar met naar niet nog of om onder ook op over te tekst tot tussen uit uw van veel volgende
    voor vraag waar wat welke wordt ze zich zijn zin zo zonder""",
    "Polish": """albo ale czy dla do ich jak jako jego jej jest lub ma na nie od oraz po pod przez się są tego tej
    ten to tylko we według za ze że""",
    "Swedish": """att av de den det din efter eller en ett från för har hur inte kan man med mellan någon och om
    på som så till ur vad var varje vid vilken vilket är även""",
    "Danish or Norwegian": """af at av de den det din efter eller en er et etter for fra han har hva hvad hver
    hvilken hvilket hvis hvor ikke kan man med mellem mellom når og om på som så til ved være""",
    "Finnish": """ei että hän ja joka joko jos jotka kuin kun mikä mitä mukaan myös ne ole on onko ovat se sekä
    sen siitä tai tämä tämän vai""",
    "Czech": """aby ale byl být co do jak jako je jeho její jsou která které který li na nebo není od po podle pro
    při se tak tento této ve za že""",
    "Hungarian": """alapján az azt de egy ha hogy is kell kérem legyen meg mely melyik milyen minden nem szerint
    szöveg vagy van és""",
    "Romanian": """al ale asupra ca care ce cea cele cu dacă de din dintre este fie la mai nu pe pentru prin sau
    se si sunt un unei unui va în și""",
    "Turkish": """bir bu da daha de değil en gibi göre her ile için metin mi mu mü ne olan
    olarak olup ve veya""",
    "Indonesian": """adalah akan anda apakah atau berikut dalam dan dari dengan di dua ini itu ke oleh pada
    sebagai serta setiap teks tidak untuk yang""",
}
_OTHERS = {name: frozenset(words.split()) - _OF_ENGLISH for name, words in _COMMON.items()}
_ENGLISH_ALONE = _OF_ENGLISH.difference(*(words.split() for words in _COMMON.values()))
_SIGNS = {"German": "ß", "Spanish": "¿¡ñ"}


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
    words = [word.casefold() for word in _WORD.findall(text)]
    n_english, n_shared = (
        sum(word in known for word in words) for known in (_ENGLISH_ALONE, _OF_ENGLISH - _ENGLISH_ALONE)
    )
    found = {name: _n_for(name, words) + any(sign in text for sign in _SIGNS.get(name, "")) for name in _OTHERS}
    most = max(found.values())
    if most < max(_FEWEST + bool(n_english), 2 * n_english, n_shared + 1):
        return ENGLISH if n_english + n_shared else None
    return " or ".join(name for name, count in found.items() if count == most)


def unknown_language(language: str, rephraser: str) -> str:
    """Writes why a rephraser of kind `rules` cannot reword a language, and what can."""
    known = f"{', '.join(REWORDED[:-1])} and {REWORDED[-1]}"
    return (
        f"it is in {language}, and rephraser '{rephraser}' of kind `rules` rewords {known}: name a rephraser with "
        "`kind: model` and `model` in rephrasing.rephraser"
    )


_SCRIPTS = {"CJK": "Chinese or Japanese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


def _n_for(name: str, words: Iterable[str]) -> int:
    requests = BY_LANGUAGE[name].requests - _OF_ENGLISH if name in BY_LANGUAGE else ()
    return sum((word in _OTHERS[name]) + 2 * (word in requests) for word in words)
