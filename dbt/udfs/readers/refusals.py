"""The words in which models usually refuse; a task's own `refusal_pattern` stands in their place."""

from __future__ import annotations

_QUOTE = r"['\x{2019}]"
_I_AM = rf"(?:i{_QUOTE}?m|i am)"
_SO = "(?:very |really |so |terribly )?"
_SORRY = rf"(?:{_I_AM} )?{_SO}(?:sorry|afraid)|(?:my |our )?apologies|i apologi[sz]e|unfortunately"
_UNABLE = rf"{_I_AM} (?:unable|not able|not allowed|not comfortable|not permitted)\b"
_CANNOT = (
    rf"i (?:can{_QUOTE}?t|cannot|can not|won{_QUOTE}?t|will not) (?:help|assist|answer|comply|provide|discuss|engage|fulfill?|"
    r"respond|do (?:that|this|it|so)|create|share|support|continue|give|offer|complete|determine|classify|decide|judge|"
    r"evaluate)\b"
)
_DECLINE = r"i (?:must |have to |need to )?(?:respectfully |politely )?(?:decline|refuse)\b"
_AS_A_MODEL = rf"(?:as|{_I_AM}) an? (?:ai|artificial intelligence|(?:large )?language model)\b"
_ELSEWHERE = (
    "(?:es )?tut mir leid|ich kann (?:dabei |dir |ihnen |das |diese )*(?:nicht|leider) |(?:je suis )?désolée?[, ]|"
    "je ne peux pas |lo siento[, ]|no puedo |mi dispiace[, ]|non posso |desculpe[, ]|não posso |"
    "抱歉|对不起|對不起|我无法|我不能|申し訳|죄송"
)
_REFUSES = f"{_UNABLE}|{_CANNOT}|{_DECLINE}|{_AS_A_MODEL}"
_APART = r"[^\pL\pN]"
USUAL_REFUSAL = rf"(?is)^{_APART}*(?:(?:(?:{_SORRY}){_APART}+(?:but |that )?)?(?:{_REFUSES})|{_ELSEWHERE})"
"""RE2: how a text begins that refuses."""
