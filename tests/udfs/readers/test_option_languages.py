"""Which option a completion in another language commits to: the ways of each language, its denials, and two options."""

from __future__ import annotations

import time

import pytest

from promptaudit.udfs.readers.option_languages import LANGUAGES, in_english
from promptaudit.udfs.readers.option_letter import NO_CHOICE, TWO_CHOICES, read_option

UPPER = ("A", "B", "C", "D")
NUMBERS = ("1", "2", "3", "4")

COMMITTED = {
    "es": [
        "Respuesta: B",
        "La respuesta correcta es la B.",
        "La respuesta es B) cincuenta",
        "**Respuesta:** B",
        "Respuesta final: (B)",
        "La opción correcta es la B, porque A es falsa.",
        "Elijo la opción B.",
        "B es la respuesta correcta.",
        "La opción B es correcta.",
        "Creo que la respuesta es B",
        "Por lo tanto, la respuesta es B.",
        "La respuesta no es A, sino B.",
    ],
    "pt": [
        "Resposta: B",
        "A resposta correta é B.",
        "A resposta correta é a letra B.",
        "A alternativa correta é a B.",
        "Gabarito: B",
        "Escolho a opção B.",
        "B é a resposta correta.",
        "Portanto, a resposta é (B).",
        "A resposta não é A, mas B.",
    ],
    "it": [
        "Risposta: B",
        "La risposta corretta è B.",
        "La risposta è la B",
        "Scelgo l'opzione B.",
        "L'opzione corretta è la B.",
        "B è la risposta corretta.",
        "Quindi la risposta è (B).",
        "La risposta giusta è: **B**",
    ],
    "fr": [
        "Réponse : B",
        "La bonne réponse est B.",
        "La bonne réponse est la B.",
        "La réponse correcte est l'option B.",
        "Je choisis B.",
        "B est la bonne réponse.",
        "La réponse est (B).",
        "Donc, la réponse est B.",
        "R\u00e9ponse finale : **B**",
        "La re\u0301ponse est B.",
    ],
    "de": [
        "Antwort: B",
        "Die richtige Antwort ist B.",
        "Die Antwort lautet B.",
        "Antwort B ist richtig.",
        "Ich wähle B.",
        "B ist richtig.",
        "B ist die richtige Antwort.",
        "Die korrekte Antwort ist **B)**",
        "Daher ist die richtige Antwort (B).",
        "Die Antwort ist nicht A, sondern B.",
        "Richtig ist B.",
        "Die Lösung ist B.",
    ],
    "nl": [
        "Antwoord: B",
        "Het juiste antwoord is B.",
        "Het antwoord is optie B.",
        "Ik kies B.",
        "B is het juiste antwoord.",
        "B is juist.",
        "Dus het antwoord is (B).",
    ],
    "sv": ["Svar: B", "Rätt svar är B.", "Det rigtige svar er B.", "Riktig svar er B", "Jag väljer B."],
    "pl": [
        "Odpowiedź: B",
        "Prawidłowa odpowiedź to B.",
        "Poprawną odpowiedzią jest B.",
        "Poprawna odpowiedź: (B)",
        "Wybieram odpowiedź B.",
        "Odpowiedź B jest poprawna.",
        "B jest poprawną odpowiedzią.",
        "Odpowiedź to nie A, lecz B.",
    ],
    "ru": [
        "Ответ: B",
        "Правильный ответ: B",
        "Правильный ответ — B.",
        "Ответ B.",
        "Правильным ответом является B.",
        "Выбираю B.",
        "Я выбираю вариант B.",
        "B — правильный ответ.",
        "Вариант B верен.",
        "B является правильным ответом.",
        "**Ответ:** B)",
        "Следовательно, ответ — B.",
        "Відповідь: B",
        "Правильна відповідь — B.",
        "Правильна відповідь: B",
        "Правильною відповіддю є B.",
        "Обираю B.",
        "Отже, відповідь B.",
    ],
    "el": ["Απάντηση: B", "Η σωστή απάντηση είναι το B.", "Η απάντηση είναι B"],
    "tr": [
        "Cevap: B",
        "Doğru cevap B.",
        "Doğru cevap: B",
        "Doğru cevap B'dir.",
        "Doğru yanıt B şıkkıdır.",
        "Cevap B",
        "B seçeneği doğrudur.",
        "B'yi seçiyorum.",
        "Bu nedenle doğru cevap B'dir.",
    ],
    "ar": [
        "الإجابة: B",
        "الإجابة الصحيحة هي B.",
        "الجواب هو (B)",
        "الإجابة الصحيحة هي: B",
        "أختار B",
        "الخيار B صحيح.",
        "B هي الإجابة الصحيحة.",
        "لذلك الإجابة هي B",
        "پاسخ: B",
    ],
    "fi": [
        "Vastaus: B",
        "Oikea vastaus on B.",
        "Vastaus on B) viisikymmentä",
        "Oikea vaihtoehto on B, koska A on väärin.",
    ],
    "hu": ["Válasz: B", "A helyes válasz: B", "A válaszom: B.", "Tehát a válasz B."],
    "ro": ["Răspuns: B", "Răspunsul corect este B.", "Varianta corectă este B.", "Deci răspunsul este B."],
    "sw": ["Jibu: B", "Jibu sahihi ni B.", "Kwa hiyo jibu ni B."],
    "bn": ["উত্তর: B", "সঠিক উত্তর: B", "সঠিক উত্তর হল B।"],
    "ta": ["பதில்: B", "சரியான பதில்: B", "விடை: B"],
    "he": [
        "התשובה היא B",
        "התשובה הנכונה היא B.",
        "תשובה: B",
        "התשובה הנכונה: (B)",
        "B היא התשובה הנכונה.",
        "אני בוחר ב B",
    ],
    "hi": [
        "उत्तर: B",
        "सही उत्तर B है।",
        "सही उत्तर है: B",
        "सही विकल्प (B) है।",
        "B सही उत्तर है।",
        "विकल्प B सही है।",
        "इसलिए, सही उत्तर B है।",
    ],
    "vi": [
        "Đáp án: B",
        "Đáp án đúng là B.",
        "Câu trả lời là B",
        "Tôi chọn B.",
        "B là đáp án đúng.",
        "Đáp án B",
        "Vậy đáp án là B.",
        "Đáp án đúng: **B**",
        "Phương án B là đúng.",
    ],
    "id": [
        "Jawaban: B",
        "Jawaban yang benar adalah B.",
        "Jawabannya adalah B",
        "Saya memilih B.",
        "B adalah jawaban yang benar.",
        "Jadi, jawaban yang tepat adalah (B).",
        "Jawapan: B",
    ],
    "th": [
        "คำตอบ: B",
        "คำตอบคือ B",
        "คำตอบที่ถูกต้องคือ B",
        "คำตอบที่ถูกต้องคือข้อ B",
        "ตอบ B",
        "เลือกข้อ B",
        "ข้อ B ถูกต้อง",
        "ดังนั้นคำตอบคือ B",
    ],
    "zh": [
        "答案：B",
        "答案是B。",
        "正确答案为 (B)",
        "正确答案是B",
        "【答案】B",
        "答：B",
        "选B",
        "故选B。",
        "故选：B",
        "应选B。",
        "我选择B。",
        "选择选项B",
        "B选项正确。",
        "选项B是正确的。",
        "B是正确答案。",
        "因此，答案是B。",
        "最终答案：**B**",
        "答案是「B」",
        "正确选项为B，因为A错误。",
        "答案不是A而是B。",
        "正確答案是B。",
        "應選B",
        "答案应该是B",
        "本题答案为（B）。",
        "Ｂ",
        "（Ｂ）",
        "答案：Ｂ",
        "答案：Ⓑ",
        "A错误，B正确。",
        "我认为答案是B",
        "A.\u5df4\u9ece\nB.\u7f57\u9a6c\n\n\u7b54\u6848\uff1aB",
    ],
    "ja": [
        "答え：B",
        "答えはBです。",
        "正解はBです",
        "正解：B",
        "解答は(B)",
        "Bが正解です。",
        "Bが正しい。",
        "Bを選びます。",
        "正解は選択肢Bです。",
        "したがって、答えはBです。",
        "答えはBだと思います。",
        "回答: B",
        "最も適切な答えはBです。",
        "Ｂ",
        "答え：「B」",
    ],
    "ko": [
        "정답: B",
        "정답은 B입니다.",
        "답은 B",
        "답: B",
        "정답은 (B)이다.",
        "B가 정답입니다.",
        "B가 맞습니다.",
        "저는 B를 선택합니다.",
        "따라서 정답은 B입니다.",
        "정답은 B번입니다.",
        "정답: **B**",
    ],
}
CALLED_WRONG_BEHIND = {  # B is the answer, and another is called wrong after it or before
    "es": [
        "La respuesta es B. La respuesta incorrecta es A.",
        "La opción incorrecta es A y la respuesta correcta es B.",
    ],
    "pt": ["A resposta é B. A alternativa errada é A."],
    "it": ["La risposta è B. La risposta sbagliata è A."],
    "fr": ["La réponse est B. La réponse fausse est A."],
    "de": ["Antwort A: falsch\nAntwort B: richtig"],
    "tr": ["Doğru cevap B. A doğru olamaz.", "Doğru cevap A değil, B'dir."],
    "vi": ["Đáp án là B. A đúng một phần."],
    "id": ["Jawabannya adalah B. Jawaban yang salah adalah A.", "Jawabannya adalah B. A benar sebagian."],
    "ru": ["Ответ: B. A верно лишь частично."],
    "th": ["คำตอบคือ B เพราะ A ถูกค้นพบในปี 1900", "คำตอบคือ B เพราะ A ถูกใช้ในการผลิต", "คำตอบคือ B\nA เป็นคำตอบที่ไม่ถูกต้อง"],
    "zh": [
        "答案是B。不能选A。",
        "答案是B。无法选A。",
        "答案是B。避免选择A。",
        "答案是B。很多人误选A。",
        "答案是B。错选A。",
        "答案是B。A是正确的吗？不是。",
        "应该是B。",
        "正确的是B。",
    ],
    "ja": [
        "正解はBです。Aが正しいとは言えません。",
        "正解はBです。Aは正解とは言えません。",
        "正解はBです。Aは正しいとは限らない。",
        "正解はBです。Aを選ぶと間違いです。",
        "答えはAではなくBです。",
        "正解は、Bです。",
        "Aは間違いでBが正しい。",
        "Bを選ぶべきです。",
        "Bを選ぶことにします。",
        "Bを選ぶと良いでしょう。",
    ],
    "ko": [
        "정답은 B입니다. A는 옳지 않습니다.",
        "정답은 B입니다. A는 맞지 않습니다.",
        "정답은 B입니다. A는 올바르지 않습니다.",
        "정답: B\nA는 정답이 될 수 없습니다.",
        "정답은 B입니다. A를 선택하지 않습니다.",
        "정답은 A가 아니라 B입니다.",
        "A는 틀리고 B가 맞습니다.",
    ],
}
NOT_COMMITTED = {
    "es": [
        "La respuesta no es A.",
        "A es incorrecta.",
        "Si la respuesta es A, todo cambia.",
        "¿Es A la respuesta?",
        "Ni A ni B son correctas.",
        "La respuesta podría ser A.",
    ],
    "pt": [
        "A resposta não é B.",
        "B está incorreta.",
        "Se a resposta é B, tudo muda.",
        "A resposta a esta pergunta é incerta.",
    ],
    "it": ["La risposta non è A.", "A è sbagliata.", "Se la risposta è A, tutto cambia."],
    "fr": ["La réponse n'est pas A.", "A est fausse.", "Si la réponse est A, tout change.", "La réponse a été donnée."],
    "de": [
        "Die Antwort ist nicht A.",
        "A ist falsch.",
        "A ist nicht richtig.",
        "Wenn die Antwort A ist, ist alles anders.",
        "Weder A noch B ist richtig.",
        "Antwort A: falsch",
    ],
    "nl": ["Het antwoord is niet A.", "A is onjuist.", "Als het antwoord A is, verandert alles."],
    "pl": ["Odpowiedź to nie A.", "A jest błędna.", "Jeśli odpowiedź to A, wszystko się zmienia."],
    "ru": [
        "Ответ не A.",
        "A неверно.",
        "Если ответ A, то всё меняется.",
        "Вариант A неверен.",
        "Ни A, ни B не верны.",
        "Відповідь не A.",
        "A — неправильна відповідь.",
        "Якщо відповідь A, то все змінюється.",
    ],
    "tr": ["Cevap A değil.", "A yanlış.", "A doğru değildir.", "A doğru olamaz."],
    "ar": ["الإجابة ليست A", "A خاطئة.", "إذا كانت الإجابة A"],
    "he": ["התשובה אינה A", "A לא נכונה."],
    "fi": ["Vastaus ei ole A", "A on väärin."],
    "hu": ["A válasz nem A"],
    "ro": ["Răspunsul nu este A", "A este greșit."],
    "bn": ["উত্তর A নয়"],
    "hi": ["सही उत्तर A नहीं है।", "A गलत है।"],
    "vi": ["Đáp án không phải là A.", "A sai.", "A không đúng.", "Nếu đáp án là A, mọi thứ thay đổi."],
    "id": [
        "Jawabannya bukan A.",
        "A salah.",
        "A tidak benar.",
        "Jika jawabannya A, semua berubah.",
        "Jawaban yang salah adalah A.",
    ],
    "th": ["คำตอบไม่ใช่ A", "A ผิด", "ข้อ A ไม่ถูกต้อง", "A ถูกใช้ในการผลิต", "A เป็นคำตอบที่ไม่ถูกต้อง"],
    "zh": [
        "答案不是A。",
        "A不正确。",
        "A是错误的。",
        "不选A。",
        "如果答案是A，那么一切都变了。",
        "答案是A吗？",
        "排除A。",
        "A选项错误。",
        "维生素C对健康有益。",
        "不能选B",
        "A正确吗",
        "不正确的是A",
    ],
    "ja": [
        "答えはAではありません。",
        "Aは間違いです。",
        "Aは正しくない。",
        "Aではない。",
        "答えはAですか？",
        "ビタミンCは体に良い。",
        "答えはAかもしれない。",
        "Aだとは思いません。",
        "Aを選びません。",
    ],
    "ko": [
        "정답은 A가 아닙니다.",
        "A는 틀렸습니다.",
        "A는 정답이 아닙니다.",
        "A는 정답이 될 수 없습니다.",
        "비타민 C는 건강에 좋다.",
    ],
}
TWO = [
    *(
        "La respuesta es A o B.",
        "A y C son correctas.",
        "La réponse est A ou B.",
        "A et C sont correctes.",
        "Die Antwort ist A oder B.",
    ),
    *(
        "A und C sind richtig.",
        "La risposta è A o B.",
        "A e C são corretas.",
        "Odpowiedź to A lub B.",
        "Ответ: A или B",
    ),
    *(
        "答案是A或B。",
        "A和C都正确。",
        "答案：A、C",
        "答えはAまたはBです。",
        "AとCが正解です。",
        "정답은 A 또는 B입니다.",
        "A와 C가 정답입니다.",
        "Đáp án là A hoặc B.",
    ),
    *("Jawabannya adalah A atau B.", "คำตอบคือ A หรือ B", "सही उत्तर A या B है।", "الإجابة هي A أو B"),
]


@pytest.mark.parametrize(
    ("name", "completion"),
    [(name, text) for cases in (COMMITTED, CALLED_WRONG_BEHIND) for name, texts in cases.items() for text in texts],
)
def test_committed(name: str, completion: str) -> None:
    assert read_option(completion, UPPER).index == 1, (name, in_english(completion, UPPER))


@pytest.mark.parametrize(
    ("name", "completion"), [(name, text) for name, texts in NOT_COMMITTED.items() for text in texts]
)
def test_not_committed(name: str, completion: str) -> None:
    assert read_option(completion, UPPER).reason == NO_CHOICE, (name, in_english(completion, UPPER))


@pytest.mark.parametrize("completion", TWO)
def test_two_choices(completion: str) -> None:
    assert read_option(completion, UPPER).reason == TWO_CHOICES, in_english(completion, UPPER)


@pytest.mark.parametrize(
    ("completion", "signs", "index"),
    [
        ("Ａ", UPPER, 0),
        ("２", NUMBERS, 1),
        ("答案：②", NUMBERS, 1),
        ("정답은 2번입니다.", NUMBERS, 1),
        ("Die richtige Antwort ist „B“.", UPPER, 1),
        ("Die richtige Antwort ist ‚B‘.", UPPER, 1),
        ("Die richtige Antwort ist »B«.", UPPER, 1),
        ("The answer is ‘B’", UPPER, 1),
        ("正解は2番です", NUMBERS, 1),
        ("الإجابة: ٢", NUMBERS, 1),
        ("उत्तर: २", NUMBERS, 1),
        ("उत्तर: २", ("१", "२"), 1),
        ("答案：②", ("①", "②"), 1),  # signs as the template has them
        ("𝐁", UPPER, 1),
        ("🅱", UPPER, 1),
        ("Правильный ответ: Б", ("А", "Б", "В", "Г"), 1),
        ("الإجابة الصحيحة هي ب", ("أ", "ب", "ج", "د"), 1),
        ("答えはイです。", ("ア", "イ", "ウ", "エ"), 1),
        ("정답은 나입니다.", ("가", "나", "다", "라"), 1),
        ("La respuesta es e", tuple("ABCDE"), 4),
        ("A. forty\nB. fifty\n\nRespuesta: B", UPPER, 1),
        ("B. cincuenta\n\nRespuesta: C", UPPER, 2),
    ],
)
def test_signs_are_what_the_template_gave_or_their_ascii(completion: str, signs: tuple[str, ...], index: int) -> None:
    assert read_option(completion, signs).index == index, in_english(completion, signs)


def test_english_stays_as_it_is() -> None:
    for text in ("The answer is B.", "La La Land is the answer.", "“B” – café", "Die Hard is B.", ""):
        assert in_english(text, UPPER) == text


def test_every_language_has_its_tests_and_words_of_its_own() -> None:
    assert set(LANGUAGES) == set(COMMITTED)
    words = [word for language in LANGUAGES.values() for word in language.telling.split("|") if word]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("piece", ["答案是A", "Aを", "respuesta ", "A'nın ", "정답은 A와 ", "A", "не "])
def test_a_hostile_text_is_over_at_once(piece: str) -> None:
    started = time.process_time()
    read_option(piece * (1_000_000 // len(piece)), UPPER)
    assert time.process_time() - started < 2
