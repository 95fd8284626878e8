r"""The words and the rules by which a sign of an option is a choice, each rule with an example that no other rule reads.

Every word and mark of a text has a class, which is one character, and rules are patterns over the classes before and behind a
sign. In the patterns below `{noun}` stands for the character of that class; marks stand for themselves, S for a sign.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import re2


class Words(NamedTuple):
    """A class of words, and the character that stands for it."""

    character: str
    words: str


WORDS = {
    # what is chosen
    "noun": Words(
        "N",
        "answer 'answer' ans choice selection solution conclusion verdict decision bet response final_answer correct_answer "
        "answer_choice answer_letter final_choice selected_answer",
    ),
    "option": Words("O", "option letter alternative correct_option selected_option option_letter"),
    "one": Words("1", "one"),
    "answers": Words("a", "answers"),
    "box": Words("K", r"\boxed \fbox \answer"),
    # what is said of it: right, nearly so, another's
    "right": Words("P", "correct right"),
    "best": Words(
        "p",
        "best likely accurate appropriate plausible suitable fitting probable reasonable logical proper final true closest "
        "chosen selected strongest",
    ),
    "wrong": Words(
        "x", "wrong incorrect false common popular tempting first initial previous original earlier another other"
    ),
    # verbs: be, and what stands before or for it
    "is": Words("L", "is was equals remains being answer's"),
    "are": Words("R", "are were"),
    "be": Words("B", "be"),
    "must": Words("M", "must should would will to has needs"),
    "seems": Words("Z", "seems looks appears sounds"),
    "does": Words("v", "does do did"),
    # verbs of choosing, alone, with a preposition, of thinking, of likeness
    "choose": Words("V", "choose chose chooses choosing select selecting selects picks picked picking leaves leaving"),
    "go": Words(
        "G",
        "go going goes went stick sticking opt opting opted settle settled settling decide decided voting",
    ),
    "with": Words("W", "with for on"),
    "think": Words(
        "T", "believe think guess suspect reckon conclude prefer recommend suggest propose vote say feel pick"
    ),
    "matches": Words("Q", "corresponds matches"),
    # what stands for a sentence's subject
    "it": Words("E", "it this that which"),
    "it_is": Words("Y", "it's that's it\u2019s that\u2019s"),
    # what changes nothing: within a phrase, and before one
    "filler": Words(
        "f",
        "the my our your clearly definitely obviously probably most simply actually indeed certainly surely only just "
        "either both all maybe perhaps possibly also even really necessarily undoubtedly truly single more very by far number "
        "second third fourth last",
    ),
    "lead": Words(
        "t",
        "a an i i'd i'll i'm we we'd we'll you they want sure certain clear convinced said claim argue mean know agree "
        "case can able of in am have had get let me us",
    ),
    "so": Words("D", "therefore thus hence so ergo finally then overall"),
    # what denies, and what makes a condition
    "not": Words(
        "!",
        "not never cannot can't can\u2019t isn't isn\u2019t wasn't wasn\u2019t aren't don't don\u2019t doesn't doesn\u2019t "
        "didn't won't wouldn't wouldn\u2019t couldn't shouldn't",
    ),
    "none": Words("~", "neither none nothing hardly unlikely doubt"),
    "no": Words("o", "no without"),
    "if": Words("h", "if whether might may could unless suppose supposing assume assuming"),
    # what joins, and what goes on behind a choice
    "and": Words("&", "and &"),
    "or": Words("|", "or nor / |"),
    "but": Words("b", "but"),
    "because": Words("C", "because since as"),
    "instead": Words("c", "while over rather instead given"),
    # what only adorns
    "adorn": Words(
        "d",
        r'* ` { } " # ~ \ \text \textbf \textit \textrm \mathbf \mathrm \mathit \mathsf'
        " \u201c \u201d \u00ab \u00bb",
    ),
}

RECORD = "\x1c"
MARKS = {
    # stops between two words without a blank; before a blank they become what they are
    ".": "g",
    ",": "k",
    ":": "q",
    **dict.fromkeys("!\u2026\u3002", "."),
    **dict.fromkeys("\uff0c\u3001", ","),
    **dict.fromkeys("-\u2013\u2014\u2022", "-"),
    **dict.fromkeys("+%^", "#"),
    **dict.fromkeys("([\uff08", "("),
    **dict.fromkeys(")]\uff09", ")"),
    **dict.fromkeys("?\uff1f", "?"),
    ">": ">",
    **dict.fromkeys("\u2192\u21d2", "="),
    "\uff1a": ":",
    ";": ";",
    "=": "=",
    "<": "<",
    "$": "$",
    "\n": "n",
    "": " ",
    RECORD: "r",  # between two texts
}

_NAMED = {name: each.character for name, each in WORDS.items()} | {
    "dot": "g",
    "comma": "k",
    "colon": "q",
    "line": "n",
    "unsure_word": "s",
    "unsure_i": "i",
    "number": "9",
}


def _in_classes(pattern: str) -> str:
    """Returns a pattern over classes whose names, in braces, are replaced by what they stand for."""
    return re.sub(r"\{([A-Za-z_]+)\}", lambda match: _NAMED[match[1]], pattern)


def _python(pattern: str) -> re.Pattern[bytes]:
    return re.compile(_in_classes(pattern).encode())


class Rule(NamedTuple):
    """A phrase before a sign that makes it a choice, and a text in which it does; B is chosen there."""

    pattern: str
    example: str


# parts of phrases
_NAMED["FILL"] = _in_classes(
    "(?:[{filler}{option}{so}{noun}{right}{best}:{colon}{line}{not}{none}{one}(>-]|{option},|,{so},)*"
)
_NAMED["GAP"] = _in_classes("[^.?;{line}{noun}S{colon}>=|]{0,12}")
_NAMED["A_NOUN"] = _in_classes("(?:[{noun}{option}]{1,2}|[{right}{best}]{one}|[{filler}{best}][{choose}{think}])")
_NAMED["DENIAL"] = _in_classes(
    "[{not}{none}{if}][{lead}{think}{filler}{it}{must}{right}{best}{is}{be}{one}{choose}{go}]{0,6}"
)
_DENIED = "(?:{no}?{DENIAL}|{wrong})?"

WHATEVER_FOLLOWS = (
    Rule("{box}", r"It is \boxed{B}"),
    Rule("{A_NOUN}{GAP}[{is}{are}{be}:]", "The answer to this question is B"),
    Rule("(?:{A_NOUN}|[{right}{best}])[-=>{colon}:]{1,3}", "After all, best = B all along"),
    Rule("[{right}{filler}]{answers}{GAP}[{are}:]", "The answers are B"),
    Rule(r"\({noun}\)", "(Answer) B"),
    Rule("{line}S:", "Q\nA: B"),
    Rule("{choose}(?:{lead}?{with})?", "I choose B"),
    Rule("{go}{filler}*{with}", "I will go with B"),
)
"""Phrases that make the sign behind them a choice, whatever follows it."""

BEFORE_A_CLAUSE_ENDS = (
    Rule("{think}(?:{it}?{is}|{it}|{it_is}|{it}{must}*{be})?{FILL}", "I think it is B, maybe"),
    Rule(r"[{line}{right}{best}{must}{lead}]{noun}[{line}{noun}{option}(]*", "That is a choice B, in short"),
    Rule(r"[{right}{best}]{option}\(*", "Of these, the correct option B, in short"),
)
"""Phrases that do where a clause ends behind the sign."""

BEFORE_A_SENTENCE_ENDS = (
    Rule("{so},?{FILL}", "Thus B."),
    Rule("{it}{must}*[{is}{be}]{FILL}", "It is B."),
    Rule("{it_is}{FILL}", "It's B."),
    Rule("{matches}{must}?{FILL}", "This matches B."),
    Rule(
        r"{A_NOUN}{GAP}[{is}{be}:][^.?;{line}S]{1,12}(?:\({option}?|,{filler}*{option}\(?)",
        "The answer is fifty years (B).",
    ),
)
"""Phrases that do where the sentence, or the line, ends behind the sign."""


def strong(rules: tuple[Rule, ...] = WHATEVER_FOLLOWS) -> Any:  # noqa: ANN401 - re2 has no stubs
    """Returns the pattern of phrases before a sign that make it a choice whatever follows; what denies them is part of it."""
    return re2.compile(_in_classes(f"{_DENIED}(?:{'|'.join(rule.pattern for rule in rules)}){{FILL}}$").encode())


def weak(
    of_clauses: tuple[Rule, ...] = BEFORE_A_CLAUSE_ENDS, of_sentences: tuple[Rule, ...] = BEFORE_A_SENTENCE_ENDS
) -> Any:  # noqa: ANN401 - re2 has no stubs
    """Returns the pattern of phrases that do where something ends behind the sign; the first group where a clause is enough."""
    clauses, sentences = ("|".join(rule.pattern for rule in rules) for rules in (of_clauses, of_sentences))
    return re2.compile(_in_classes(f"{_DENIED}(?:({clauses})|{sentences})$").encode())


STRONG, WEAK = strong(), weak()
PHRASE_ENDS = frozenset(
    _in_classes(
        "{box}{is}{are}{be}:-=>{colon}){choose}{with}{filler}{option}{so}{noun}{right}{best}{line}{not}{none}{one}"
        "(,{think}{it}{it_is}{matches}{must}{but}"
    ).encode()
)
"""What a phrase before a sign can end with."""

# "not A but"
CORRECTED = re2.compile(_in_classes(r"[{not}{none}]{filler}*{option}?S\)*,?{but}[{filler}{option}(]*$").encode())
DENIES = re2.compile(_in_classes(r"{no}?{DENIAL}[{filler}{option}(]*$").encode())
LEAD_ENDS = frozenset(_in_classes("{line}{filler}{right}{best}{lead}{noun}{option}:{colon}(=>-").encode())
LINE_LEAD = _python(r"{line}[{filler}{right}{best}{lead}]*[{noun}{option}]{0,2}[:{colon}=-]*(?:[=-]>)?\(*$")

# behind a sign
BREAKS = _python(r"\)*[?#=]")
_NAMED["RIGHT_AFTER_MARK"] = _in_classes(r"\)*[:(-]{right}[).,;{line}]")
# "B is correct", "B: correct"; the first group where all that are joined are meant
IS_RIGHT = _python(
    r"\)*(?:({are})|[{is}{are}]|{must}+{be}|{seems}(?:{must}{be})?)[{filler}{best}{so}{it}]*"
    r"(?:{right}|[{noun}{option}]|{best}[.,;:{line}){because}{one}])|{RIGHT_AFTER_MARK}"
)
# what an option's text behind its bracket, or a verb without a subject, may begin with
TEXT_BEHIND = _python(r"[)-]|{must}")
# what a sign can be the subject of
SUBJECT = _python(r"\)*[{is}{are}{must}{be}{seems}{does}]|{not}|{RIGHT_AFTER_MARK}")
ANYTHING = re.compile(b"")
CLAUSE_END = _python("[{line}.,;:)(<&|{instead}{because}{but}{it}{with}{dot}{comma}{colon}-]")
SENTENCE_END = _python(r"\)*[{line}.{because}<]")
ALONE = _python(r"[).:;,]*(?:<\|.>)*{line}")
REASONED = _python("[).:,-]*{because}")
# a mark and the option's text, which is not said to be wrong
WITH_TEXT = _python(
    r"[).:{dot}{colon}-]+(?!{wrong}[{noun}{option}]|(?:[{is}{are}{seems}]|{must}+{be})[{filler}{so}]*[{not}{none}{wrong}])[^{line}?]"
)

# between signs
JOIN = _python(r"\)*[,;{comma}]?[&|]*[{filler}{option}]*\(*")
JOIN_OF_TEXTS = _python(r"\)[^.?;{line}S]{1,12}[,;&|]+[{filler}{option}(]*")
NEXT_LINE = _python(r"[).:;,]*{line}+[-(]*{option}?\(*")
ITEM_LEAD = _python(r"{line}[-(]*{option}?\(*$")
ITEM = _python(r"{line}[-(]*{option}?\(*(S)[).:{dot}{colon}-]+[^{line}]")

# Signs: S is no word; the article, or a user's word, the pronoun I and a number may stand in prose, where they are no signs.
# What is between brackets, quotes or stars is one, and its closing mark is kept as a bracket.
WRAPPED = _python(r"[S{unsure_word}{unsure_i}{number}](?<=[{adorn}(].)[{adorn})]")
IN_PROSE = _python(
    r"[S{unsure_word}{unsure_i}{number}](?:(?<=[{dot}<].)|(?={dot}[S{unsure_word}{unsure_i}{number}])|(?<=<\|.)"
    r"|(?<={number}{colon}{number})"
    r"|(?<={unsure_word})(?![{adorn}$]*[{line}.?,;:)(<&|{instead}{because}{but}{is}{are}{must}{seems}{not}{does}>{dot}{comma}{colon}-])"
    r"|(?<={unsure_i})(?![{adorn}$]*[{line}.?,;:)(<&|{instead}{because}{but}{is}{are}>{colon}-])"
    r"|(?<={number})(?![{adorn}$]*(?:[{line}.?,;:)(<&{instead}{because}{but}{is}{are}{must}{seems}{not}{does}>]|-[^{number}]))"
    r"|(?<=\${number})(?!\$))"
)
