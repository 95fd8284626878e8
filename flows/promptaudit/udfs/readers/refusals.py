"""Lists the words in which models usually refuse; a task's own `refusal_pattern` replaces them.

An apology by itself is no refusal ("Sorry, the answer is B"), nor is every sentence about what somebody cannot do ("no
puedo creer lo bueno que es"). Each language has verbs of refusing, which an apology may precede.
"""

from __future__ import annotations

from collections.abc import Mapping

BEGINNING = 500
"""A refusal begins within so many characters of an answer."""

_APOS = r"['\x{2019}\x{2018}\x{b4}`]"
_I_AM = rf"(?:i{_APOS}?m|i am)"
_THE_MODEL = (
    r"(?:ai|artificial intelligence|(?:large )?language model)(?: (?:language )?(?:model|assistant|system|chatbot))?"
)

_ENGLISH = (
    rf"{_I_AM} (?:unable|not able|not allowed|not comfortable|not permitted)\b|"
    rf"(?:i (?:can{_APOS}?t|cannot|can not|won{_APOS}?t|will not)|{_I_AM} not going to),? (?:in good conscience\b|(?:help|assist|"
    r"answer|comply|provide|discuss|engage|fulfill?|respond|do (?:that|this|it|so)|create|share|support|continue|give|offer|"
    r"complete|determine|classify|decide|judge|evaluate|generate|write|produce)\b)|"
    r"i (?:must |have to |need to )?(?:respectfully |politely )?(?:decline|refuse)\b|"
    rf"(?:as|{_I_AM}) an? {_THE_MODEL}(?:[.,;:]|$| (?:i|and|so|but|without|developed|trained|created|designed|made)\b)"
)
# How models apologise and how they refuse, by language.
_REFUSALS: Mapping[str, tuple[str, str]] = {
    "English": (
        rf"(?:{_I_AM} )?(?:very |really |so |terribly )?(?:sorry|afraid)|(?:my |our )?apologies|i apologi[sz]e|unfortunately",
        _ENGLISH,
    ),
    "German": (
        r"(?:es )?tut mir (?:sehr |wirklich )?leid|entschuldigung|verzeihung|leider|ich bedauere?",
        (
            r"(?:(?:\pL+ ){0,3}(?:kann|darf) ich|ich (?:kann|darf)) (?:\pL+ ){0,5}nicht (?:\pL+ ){0,5}(?:weiter)?"
            r"(?:helfen|behilflich|beantworten|antworten|bearbeiten|erfüllen|nachkommen|entsprechen|beurteilen|einordnen|klassifizieren|bewerten|"
            r"entscheiden|bestimmen|geben|erstellen|schreiben|liefern|unterstützen|generieren|weitermachen)|"
            r"(?:ich bin|bin ich) (?:leider )?nicht (?:in der lage|befugt|berechtigt)|ich muss (?:\pL+ ){0,3}ablehnen"
        ),
    ),
    "French": (
        r"(?:je suis )?(?:vraiment |sincèrement )?désolée?|excuse[sz]?(?:-moi)?|pardon|malheureusement|je regrette",
        (
            rf"je ne (?:peux|puis|pourrai|saurais) (?:pas )?(?:(?:vous|te|y|le|la|les|en) |[ltm]{_APOS})*(?:répond|aide|assist|"
            r"fourni|class|évalu|détermin|génér|écri|crée|faire (?:cela|ça)|trait|donne|accéder|satisf|poursui|continu|juge|"
            r"décide|partag|particip|rédige|produi|offri|discut)|je ne suis pas (?:en mesure|capable|autorisée?)|"
            rf"je (?:dois )?(?:refuse|décline)|il m{_APOS}est impossible"
        ),
    ),
    "Spanish": (
        r"lo (?:siento|lamento)(?: mucho)?|perdón|perdona|disculp[ae]|lamentablemente|desafortunadamente|por desgracia",
        (
            r"no (?:(?:te|le|les|os|lo) )?(?:puedo|podré|me es posible|soy capaz de) (?:ayud|respond|contest|asist|proporcion|"
            r"clasific|evalu|determin|gener|escrib|crea|hacer(?:lo| es[ot]| esto)|proces|dar|ofrec|cumpl|complet|continu|juzg|"
            r"decidi|compart|particip|realiz|opin)|no estoy (?:autorizad|en condiciones)|me niego|debo (?:negarme|rechaz|declin)"
        ),
    ),
    "Italian": (
        r"(?:mi )?(?:di)?spiace|scusa(?:mi|te)?|mi scusi|mi scuso|purtroppo|sono spiacente",
        (
            r"non (?:(?:ti|vi|le|la|lo) )?(?:posso|potrò|riesco a|mi è possibile) (?:aiut|rispond|assist|forni|classific|valut|"
            r"determin|gener|scriv|crea|farlo|fare quest|elabor|dar|offri|soddisf|complet|continu|giudic|decid|condivid|particip|"
            r"esprim)|non sono (?:in grado|autorizzat)|mi rifiuto|devo (?:rifiut|declin)"
        ),
    ),
    "Portuguese": (
        r"desculp(?:e|a|em)(?:-me)?|peço desculpas?|sinto muito|lamento|infelizmente|perdão",
        (
            r"não (?:(?:te|lhe|o|a) )?(?:posso|poderei|consigo|me é possível) (?:(?:te|lhe|o|a) )?(?:ajud|respond|auxili|fornec|"
            r"classific|avali|determin|gerar|escrev|cria|fazer isso|fazê|process|dar|oferec|atend|cumpr|complet|continu|julg|"
            r"decid|compartilh|particip|opin)|não (?:estou|sou) (?:autorizad|capaz|apt)|(?:me recuso|recuso-me)|devo recus"
        ),
    ),
    "Chinese": (
        r"(?:非常|很|十分)?(?:抱歉|遗憾|遺憾)[^。！？\n]{0,20}|(?:对不起|對不起|不好意思)[^。！？\n]{0,20}",
        (
            r"(?:我|本人)?(?:无法|無法|不能|不便|没办法|沒辦法|没有办法|沒有辦法)[^，。！？\n]{0,12}(?:回答|答复|答覆|回复|回覆|提供|"
            r"协助|協助|帮助|幫助|帮忙|幫忙|帮您|幫您|帮你|幫你|完成|处理|處理|判断|判斷|分类|分類|满足|滿足|生成|讨论|討論|给出|給出|"
            r"确定|確定|评价|評價|继续|繼續|参与|參與|执行|執行|编写|編寫|撰写|撰寫|[这這]样做)"
        ),
    ),
    "Japanese": (
        r"(?:大変|誠に)?(?:申し訳|すみません|すいません|ごめんなさい|恐れ入り|恐縮|残念ながら)[^。！？\n]{0,40}",
        (
            r"(?:(?:その|この|ご|私)[^。！？\n]{0,20})?(?:答え|応え|回答|返答|対応|手伝い|提供|支援|判断|分類|生成|作成|協力|応じ|案内|"
            r"役に立|実行)[^。！？\n]{0,10}(?:できません|出来ません|できない|できかね|いたしかね|致しかね|られません|てません)"
        ),
    ),
    "Korean": (
        r"(?:정말 |대단히 )?(?:죄송|미안|유감|안타깝)[^.!?\n]{0,40}",
        (
            r"(?:(?:그|이|저|해당)[^.!?\n]{0,20})?(?:도와|도움|답변|대답|답할|답해|응답|응할|제공|수행|처리|분류|판단|생성|작성|지원|협조|"
            r"평가)[^.!?\n]{0,12}(?:수 ?없|수가 없|못 ?합니다|불가능|어렵습니다|않겠습니다)"
        ),
    ),
}

_APART = r"[^\pL\pN]"
_BUT = "(?:(?:but|that|aber|dass|mais|que|pero|ma|di|mas) )?"
USUAL_REFUSAL = (
    rf"(?is)^{_APART}*(?:"
    + "|".join(rf"(?:(?:{apology}){_APART}*{_BUT})?(?:{refusal})" for apology, refusal in _REFUSALS.values())
    + ")"
)
"""RE2: matches a text in composed form that begins with a refusal."""
