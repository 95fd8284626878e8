"""Says in English how a completion in another language commits to an option, so that one grammar reads them all.

A language is a list of its words by the English ones that `option_letter` knows, a phrase before its parts. What stands behind
an option, as the verb of some languages ("B를 선택합니다"), is a pattern of its own. A text in Latin letters is of the language
whose telling words, which nobody writes in English, stand in it most.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import re2

from promptaudit.udfs.spelling import canonical


class Language(NamedTuple):
    """How a language commits to an option.

    `telling` are words that tell it from English. `words` has phrases by the English word that they become. `behind` has
    patterns of what follows an option, by the English that they become, in which "^" is the option.
    """

    telling: str
    words: Mapping[str, str]
    behind: Mapping[str, str] = {}
    is_spaced: bool = True


LANGUAGES: Mapping[str, Language] = {
    "es": Language(
        telling="respuesta|respuestas|correcta|correctas|incorrecta|elijo|escojo|selecciono|opción",
        words={
            "answer": "respuesta|respuestas|solución",
            "option": "opción|opciones|alternativa|letra|inciso",
            "correct": "correcta|correcto|correctas|correctos|acertada|verdadera",
            "best": "mejor|adecuada|apropiada|probable|final|definitiva",
            "wrong": "incorrecta|incorrecto|falsa|errónea|equivocada|incorrectas",
            "the": "la|el|las|los|mi|más|claramente|definitivamente|probablemente",
            "is not": "no es|no son|no sería|no puede ser",
            "is": "debe ser|debería ser|tiene que ser|es|sería|será",
            "are": "son",
            "not": "no",
            "neither": "ni|ninguna|tampoco",
            "or": "o|u",
            "and": "y|e",
            "but": "pero|sino",
            "because": "ya que|dado que|porque|pues|puesto que",
            "therefore": "por lo tanto|por tanto|por ende|así que|entonces",
            "choose": "elijo|escojo|selecciono|elegiría|escogería|marco|me quedo con",
            "think": "creo|pienso|considero|opino",
            "that": "que",
            "if": "si|podría ser|puede ser|podría|suponiendo|supongamos",
        },
    ),
    "pt": Language(
        telling="resposta|respostas|correta|corretas|correto|incorreta|escolho|seleciono|opção|gabarito",
        words={
            "answer": "resposta|respostas|solução|gabarito",
            "option": "[ao] (?:letra|opção|alternativa)|opção|opções|alternativa|letra|item",
            "correct": "correta|correto|corretas|certa|certo|verdadeira",
            "best": "melhor|adequada|apropriada|final",
            "wrong": "incorreta|errada|falsa|incorreto|incorretas|erradas",
            "the": "o|os|as|minha|mais|claramente|provavelmente",
            "is not": "não é|não são|não pode ser",
            "is": r"é [ao](?= [\w(*])|deve ser [ao](?= [\w(*])|deve ser|é|seria|será",
            "are": "são|estão",
            "not": "não",
            "neither": "nem|nenhuma",
            "or": "ou",
            "and": "e",
            "but": "mas|e sim",
            "because": "porque|pois|já que|uma vez que",
            "therefore": "portanto|logo|assim|então",
            "choose": "escolho|seleciono|escolheria|marco|opto por",
            "think": "acho|acredito|penso",
            "that": "que",
            "if": "se|poderia ser|pode ser|talvez seja|poderia",
        },
    ),
    "it": Language(
        telling="risposta|risposte|corretta|corrette|scelgo|seleziono|opzione|giusta",
        words={
            "answer": "risposta|risposte|soluzione",
            "option": "opzione|opzioni|alternativa|lettera|scelta",
            "correct": "corretta|corretto|corrette|giusta|esatta|giuste",
            "best": "migliore|appropriata|adatta|probabile|finale|definitiva",
            "wrong": "sbagliata|errata|scorretta|falsa|errate|sbagliate",
            "the": "la|il|le|l'|mia|più|chiaramente|sicuramente",
            "is not": "non è|non sono|non può essere",
            "is": "deve essere|dovrebbe essere|è|e'|sarebbe|sarà",
            "are": "sono",
            "not": "non",
            "neither": "né|nessuna",
            "or": "oppure|o",
            "and": "e|ed",
            "but": "ma|bensì",
            "because": "perché|poiché|in quanto|dato che",
            "therefore": "quindi|dunque|pertanto|perciò",
            "choose": "scelgo|seleziono|sceglierei|opto per",
            "think": "penso|credo|ritengo",
            "that": "che",
            "if": "se|potrebbe essere|può essere|potrebbe",
        },
    ),
    "fr": Language(
        telling="réponse|réponses|reponse|correcte|correctes|bonne|choisis|sélectionne|exacte",
        words={
            "answer": "réponse|réponses|reponse",
            "option": "proposition|lettre|choix",
            "correct": "correcte|correctes|bonne|bon|exacte|juste|vraie|bonnes|justes",
            "best": "meilleure|appropriée|probable|finale",
            "wrong": "incorrecte|incorrectes|fausse|fausses|faux|mauvaise|erronée",
            "the": "la|le|les|l'|ma|mon|plus|clairement|probablement",
            "": "ne|n'",
            "is": "c'est|doit être|devrait être|est|serait|sera",
            "are": "sont",
            "not": "pas",
            "neither": "ni|aucune",
            "or": "ou",
            "and": "et",
            "but": "mais",
            "because": "parce que|parce qu'|car|puisque",
            "therefore": "par conséquent|donc|ainsi",
            "choose": "choisis|sélectionne|choisirais|opte pour",
            "think": "pense|crois",
            "that": "que|qu'",
            "if": "si|pourrait être|peut être|peut-être|pourrait",
        },
    ),
    "de": Language(
        telling="antwort|antworten|richtig|richtige|richtigen|korrekt|korrekte|wähle|antwortmöglichkeit|lösung",
        words={
            "answer is": "richtig ist|korrekt ist",
            "answer": "antwort|antworten|lösung",
            "option": "antwortmöglichkeit|antwortoption|buchstabe|auswahl|variante|möglichkeit",
            "correct": "richtig|richtige|richtigen|korrekt|korrekte|korrekten|zutreffend",
            "best": "beste|passende|passendste|wahrscheinlichste|endgültige",
            "wrong": "falsch|falsche|falschen|inkorrekt|unzutreffend",
            "the": "die|der|das|den|meine|eindeutig|definitiv|wohl|wahrscheinlich",
            "": "sein",
            "is": "ist|lautet|wäre|muss|müsste|sollte",
            "are": "sind",
            "not": "nicht|keine|kein",
            "neither": "weder|noch",
            "or": "oder",
            "and": "und",
            "but": "sondern|aber",
            "because": "weil|da|denn",
            "therefore": "daher|deshalb|somit|folglich|also|demnach",
            "choose": "wähle|nehme|würde sagen|entscheide mich für",
            "think": "denke|glaube",
            "that": "dass",
            "if": "wenn|falls|könnte|ob",
        },
    ),
    "nl": Language(
        telling="antwoord|antwoorden|juist|juiste|onjuist|kies|optie",
        words={
            "answer": "antwoord|antwoorden|oplossing",
            "option": "optie|keuze|antwoordoptie|mogelijkheid",
            "correct": "juist|juiste|correcte|goed|goede",
            "best": "beste|waarschijnlijke|uiteindelijke",
            "wrong": "fout|foute|onjuist|onjuiste|verkeerd|verkeerde",
            "the": "het|de|mijn|meest|duidelijk",
            "": "zijn(?=[ .,]*$)",
            "is": "moet|zou|luidt",
            "are": "zijn",
            "not": "niet|geen",
            "neither": "noch",
            "or": "of",
            "and": "en",
            "but": "maar",
            "because": "omdat|want|aangezien",
            "therefore": "dus|daarom|derhalve",
            "choose": "kies|ga voor",
            "think": "denk|geloof",
            "that": "dat",
            "if": "als|indien|zou kunnen|kan",
        },
    ),
    "sv": Language(  # with Danish and Norwegian
        telling="svar|svaret|svaralternativ|rätt|riktig|riktige|rigtige|rigtigt|väljer|vælger|velger",
        words={
            "answer": "svar|svaret|svaralternativ",
            "option": "alternativ|alternativet|mulighed",
            "correct": "rätt|rätta|riktig|riktige|rigtige|rigtigt|rigtig|korrekt|korrekta|korrekte",
            "best": "bästa|bedste|beste",
            "wrong": "fel|felaktigt|feil|forkert|forkerte",
            "the": "det|den|mitt|mit",
            "is": "är|er",
            "not": "inte|ikke|ej",
            "or": "eller",
            "and": "och|og",
            "but": "utan|men",
            "because": "eftersom|fordi|därför att",
            "therefore": "därför|derfor|alltså|altså",
            "choose": "väljer|vælger|velger",
            "think": "tror",
            "that": "att|at",
            "if": "om|hvis|kan vara|kunne",
        },
    ),
    "pl": Language(
        telling="odpowiedź|odpowiedzi|odpowiedzią|poprawna|poprawną|prawidłowa|prawidłową|wybieram|właściwa",
        words={
            "answer": "odpowiedź|odpowiedzi|odpowiedzią|rozwiązanie",
            "option": "opcja|opcję|opcją|wariant|litera",
            "correct": "poprawna|poprawną|prawidłowa|prawidłową|właściwa|poprawne|prawidłowe|poprawny|prawidłowy|słuszna",
            "best": "najlepsza|najlepszą|ostateczna",
            "wrong": "błędna|niepoprawna|nieprawidłowa|zła|fałszywa|błędne|niepoprawne|nieprawidłowe",
            "the": "moja|jednoznacznie",
            "is": "to|jest|brzmi|będzie",
            "are": "są",
            "not": "nie",
            "neither": "ani|żadna",
            "or": "lub|albo|czy",
            "and": "i|oraz",
            "but": "ale|lecz",
            "because": "ponieważ|bo|gdyż",
            "therefore": "więc|zatem|dlatego",
            "choose": "wybieram|wybrałbym|wybrałabym|zaznaczam",
            "think": "myślę|uważam|sądzę",
            "that": "że",
            "if": "jeśli|jeżeli|może być|mogłaby być",
        },
    ),
    "tr": Language(
        telling="cevap|cevabı|cevabım|yanıt|yanıtı|yanıtım|doğru|doğrudur|seçiyorum|şıkkı|seçeneği",
        words={
            "answer": "cevap|cevabı|cevabım|yanıt|yanıtı|yanıtım|çözüm",
            "option": "şık|seçenek",
            "correct": "doğru",
            "best": "uygun|nihai",
            "wrong": "yanlış|yanlıştır",
            "not": "değil|değildir",
            "neither": "ne|hiçbiri",
            "or": "veya|ya da",
            "and": "ve",
            "but": "ama|fakat",
            "because": "çünkü",
            "therefore": "bu yüzden|bu nedenle|dolayısıyla|o halde",
            "if": "eğer|belki|olabilir",
        },
        behind={
            "choose ^": r"(?:'\w{1,3})?(?: (?:şıkkını|seçeneğini))? (?:seçiyorum|seçerim|seçtim|işaretliyorum)",
            "not ^ but": r"(?:'\w{1,3})?(?: (?:şıkkı|seçeneği))? değil,?(?= [A-Za-z0-9(*])",
            "is not": r"(?:'\w{1,3})?(?: (?:şıkkı|seçeneği))?(?: doğru)? (?:değil|değildir|olamaz|olmaz)",
            "are correct": r"(?: (?:şıkkı|seçeneği))? (?:doğrudur|doğru (?:cevap|yanıt|seçenek)(?:tır|dir|tir)?|doğru)",
            "?": r"(?:'\w{1,3})? (?:mı|mi|olabilir)",
            "": r"(?:'(?:dır|dir|dur|dür|tır|tir))?(?: (?:şıkkı|seçeneği)(?:dır|dir)?)?",
        },
    ),
    "vi": Language(
        telling="đáp án|câu trả lời|chọn|đúng|phương án|trả lời",
        words={
            "answer": "đáp án|câu trả lời|trả lời|lời giải",
            "option": "phương án|lựa chọn|câu|chữ cái",
            "wrong": "không đúng|không chính xác|sai",
            "correct": "đúng nhất|chính xác nhất|đúng|chính xác",
            "best": "tốt nhất|phù hợp nhất|cuối cùng",
            "we": "tôi|mình|em|chúng ta",
            "is not": "không phải là|không phải",
            "is": "sẽ là|phải là|là",
            "not": "không",
            "or": "hoặc|hay",
            "and": "và",
            "but": "mà là|nhưng",
            "because": "bởi vì|vì",
            "therefore": "vì vậy|vì thế|do đó|vậy",
            "choose": "chọn",
            "think": "nghĩ|cho rằng|tin",
            "that": "rằng",
            "if": "nếu|có thể là|có thể|có lẽ",
        },
        behind={
            "is not": r" (?:là )?(?:chỉ )?(?:đúng|chính xác) (?:một phần|một nửa)",
            "are correct": r" (?:là )?(?:đúng|chính xác)",
        },
    ),
    "id": Language(  # with Malay
        telling="jawaban|jawabannya|jawapan|jawapannya|benar|tepat|memilih|pilihan",
        words={
            "answer": "jawaban|jawabannya|jawapan|jawapannya",
            "option": "opsi|pilihan|huruf",
            "wrong": "tidak benar|tidak tepat|salah|keliru",
            "best": "paling tepat|paling sesuai|terbaik|akhir",
            "correct": "benar|tepat|betul",
            "the": "yang|saya adalah|paling",
            "we": "saya|kita|kami",
            "is not": "bukanlah|bukan",
            "is": "adalah|ialah|yaitu|yakni",
            "not": "tidak",
            "or": "atau",
            "and": "dan",
            "but": "tetapi|tapi|melainkan",
            "because": "karena|sebab|kerana",
            "therefore": "oleh karena itu|dengan demikian|jadi|maka",
            "choose": "memilih|pilih",
            "think": "yakin|pikir|rasa|percaya",
            "that": "bahwa|bahawa",
            "if": "jika|kalau|mungkin",
        },
        behind={"are correct": r" (?:yang )?(?:benar|tepat|betul)(?! sebagian)"},
    ),
    "ru": Language(  # with Ukrainian
        telling="",
        words={
            "is": r"[—–-]\s*(?:(?:это|це)\s*)?(?=правильн|верн|вірн)|это|является|будет|являются|це|є",
            "answer": "ответ|ответа|ответом|ответы|решение|відповідь|відповіддю|відповіді",
            "option": "вариант|варианта|вариантом|буква|буквой|пункт|варіант|варіантом|літера",
            "correct": "правильный|правильная|правильным|правильного|правильное|верный|верная|верным|верное|верного|правильна|"
            "правильний|правильною|правильним|вірна|вірний|вірною",
            "best": "подходящий|лучший|окончательный|вероятный|найкраща|найкращий|остаточна",
            "wrong": "неправильный|неправильная|неправильно|неправильным|неверный|неверная|неверно|неверен|неверным|ошибочный|"
            "неправильна|неправильний|невірна|невірний|хибна",
            "the": "мой|наиболее|самый|моя|мій",
            "we": "я|мы|ми",
            "not": "не",
            "neither": "ни|ні",
            "or": "или|або|чи",
            "and": "и|і|та|й",
            "but": "но|але|а(?= )",
            "because": "потому что|так как|поскольку|тому що|оскільки|бо",
            "therefore": "таким образом|следовательно|поэтому|итак|значит|таким чином|отже|тому",
            "choose": "выбираю|выберу|выбрал|выбрала|обираю|вибираю|оберу",
            "think": "думаю|считаю|полагаю|вважаю",
            "that": "что|що",
            "if": "если|может быть|возможно|якщо|може бути|можливо",
        },
        behind={
            "are correct": r" (?:верен|верна|верно|верны|правилен|правильна|правильно|правильны|вірно|вірні|правильні|вірна)"
            r"(?! (?:лишь|только|частично|отчасти|лише|частково))"
        },
    ),
    "el": Language(
        telling="",
        words={
            "answer": "απάντηση|απάντησή",
            "option": "επιλογή",
            "correct": "σωστή|σωστό|ορθή",
            "wrong": "λάθος|λανθασμένη",
            "the": "η|το|την|μου",
            "is": "είναι",
            "not": "δεν|όχι",
            "or": "ή",
            "and": "και",
            "but": "αλλά",
            "because": "επειδή|γιατί",
            "therefore": "άρα|επομένως",
            "choose": "επιλέγω",
            "think": "πιστεύω",
            "if": "αν|ίσως",
        },
    ),
    "fi": Language(
        telling="vastaus|vastaukseni|vaihtoehto|valitsen",
        words={
            "answer": "vastaus|vastaukseni",
            "option": "vaihtoehto|kirjain",
            "correct": "oikea|oikein",
            "wrong": "väärä|väärin",
            "the": "minun|selvästi",
            "is": "on",
            "not": "ei|eikä",
            "or": "tai",
            "and": "ja",
            "but": "vaan|mutta",
            "because": "koska|sillä",
            "therefore": "siis|siksi|joten",
            "choose": "valitsen",
            "if": "jos|ehkä|voisi olla",
        },
    ),
    "hu": Language(
        telling="válasz|válaszom|helyes|választom|lehetőség",
        words={
            "answer": "válasz|válaszom|megoldás",
            "option": "lehetőség|opció|betű",
            "correct": "helyes|jó",
            "wrong": "helytelen|rossz|hibás",
            "the": "az én|egyértelműen",
            "is not": "nem",
            "or": "vagy",
            "and": "és",
            "but": "hanem|de",
            "because": "mert|mivel",
            "therefore": "tehát|ezért|így",
            "choose": "választom|választanám",
            "if": "ha|talán|lehet",
        },
    ),
    "ro": Language(
        telling="răspuns|răspunsul|raspunsul|corect|corectă|varianta|aleg",
        words={
            "answer": "răspuns|răspunsul|raspuns|raspunsul|soluția",
            "option": "varianta|opțiunea|litera",
            "correct": "corect|corectă|adevărat",
            "wrong": "greșit|greșită|incorect|incorectă",
            "the": "meu|cel mai|cea mai|clar",
            "is not": "nu este|nu e",
            "is": "este|e|ar fi",
            "not": "nu",
            "or": "sau|ori",
            "and": "și",
            "but": "ci|dar",
            "because": "deoarece|pentru că|fiindcă",
            "therefore": "deci|așadar|prin urmare",
            "choose": "aleg|aș alege|optez pentru",
            "if": "dacă|poate|ar putea fi",
        },
    ),
    "sw": Language(
        telling="jibu|jawabu|sahihi|nachagua",
        words={
            "answer": "jibu|jawabu",
            "option": "chaguo|herufi",
            "correct": "sahihi|sawa",
            "wrong": "si sahihi|siyo sahihi|makosa",
            "is": "ni",
            "is not": "si|siyo|sio",
            "or": "au",
            "and": "na",
            "but": "bali|lakini",
            "because": "kwa sababu|kwa kuwa",
            "therefore": "kwa hiyo|hivyo",
            "choose": "nachagua",
            "if": "kama|labda|ikiwa",
        },
    ),
    "bn": Language(
        telling="",
        words={
            "answer": "উত্তর|উত্তরটি|জবাব",
            "option": "বিকল্প|অপশন",
            "wrong": "ভুল|সঠিক নয়",
            "correct": "সঠিক|ঠিক",
            "is": "হল|হলো|হচ্ছে",
            "not": "নয়|না",
            "or": "বা|অথবা",
            "and": "এবং|ও",
            "but": "বরং|কিন্তু",
            "because": "কারণ",
            "therefore": "তাই|সুতরাং|অতএব",
            "if": "যদি|হয়তো|হতে পারে",
        },
    ),
    "ta": Language(
        telling="",
        words={
            "answer": "பதில்|விடை",
            "option": "விருப்பம்|தேர்வு",
            "wrong": "தவறு|தவறானது",
            "correct": "சரியான|சரி|சரியானது",
            "not": "இல்லை|அல்ல",
            "or": "அல்லது",
            "and": "மற்றும்",
            "but": "ஆனால்",
            "because": "ஏனெனில்",
            "therefore": "எனவே|ஆகவே",
            "if": "ஒருவேளை|இருக்கலாம்",
        },
    ),
    "ar": Language(  # with Persian
        telling="",
        words={
            "answer": "الإجابة|الاجابة|الإجابات|إجابة|إجابتي|الجواب|جواب|پاسخ|الحل",
            "option": "الخيار|الاختيار|الحرف|البديل|خيار|گزینه",
            "wrong": "غير صحيحة|غير صحيح|خاطئة|خاطئ|خطأ|الخاطئة|نادرست",
            "correct": "الصحيحة|الصحيح|صحيحة|صحيح|الصواب|درست|صحیح",
            "best": "الأفضل|الأنسب|النهائية|نهایی",
            "is": "هي|هو|تكون",
            "not": "ليست|ليس|لا|وليس|وليست|نیست",
            "or": "أو|یا",
            "and": "و",
            "but": "بل|لكن",
            "because": "لأن|لأنه|لأنها|حيث|زیرا",
            "therefore": "لذلك|إذن|لذا|وبالتالي|بنابراین",
            "choose": "أختار|اختار|اخترت|سأختار",
            "think": "أعتقد|أظن",
            "that": "أن",
            "if": "إذا|لو|ربما تكون|قد تكون|ربما|قد|اگر|هل",
        },
        behind={
            "are correct": r" (?:هي |هو |هما )?(?:صحيح|صحيحة|صحيحتان|درست است|صحیح است)",
            "is not": r" (?:نیست)",
            "": r" (?:است)",
        },
    ),
    "he": Language(
        telling="",
        words={
            "answer": "תשובה|התשובה|תשובתי|התשובות|פתרון",
            "option": "אפשרות|האפשרות|האות|אות",
            "wrong": "לא נכונה|לא נכון|שגויה|שגוי|השגויה",
            "correct": "הנכונה|נכונה|הנכון|נכון|הנכונות",
            "best": "הטובה|המתאימה|הסופית|הסבירה",
            "is": "היא|הוא|הינה",
            "are": "הן|הם",
            "not": "לא|אינה|אינו|איננה",
            "or": "או",
            "and": "ו",
            "but": "אלא|אבל",
            "because": "כי|משום|מכיוון",
            "therefore": "לכן|ולכן|לפיכך",
            "we": "אני",
            "choose": "בוחר ב|בוחרת ב|בוחר|בוחרת|אבחר",
            "think": "חושב|חושבת|מאמין",
            "if": "אם|אולי",
        },
        behind={"are correct": r" (?:היא |הוא )?(?:נכונה|נכון|נכונות)"},
    ),
    "hi": Language(  # with Marathi and Nepali
        telling="",
        words={
            "answer": "उत्तर|जवाब|हल",
            "option": "विकल्प|अक्षर",
            "correct": "सही|ठीक|बरोबर|योग्य",
            "best": "सर्वोत्तम|अंतिम|सबसे उपयुक्त",
            "wrong": "गलत|ग़लत|चुकीचे",
            "the": "मेरा|इसका",
            "is": "है|हैं|होगा|होगी|आहे",
            "not": "नहीं",
            "or": "या|अथवा",
            "and": "और|तथा",
            "but": "लेकिन|बल्कि",
            "because": "क्योंकि",
            "therefore": "इसलिए|अतः",
            "if": "यदि|अगर|शायद",
        },
        behind={
            "is not": r"(?: (?:सही|ठीक))?(?: (?:उत्तर|जवाब|विकल्प))? नहीं(?: (?:है|हैं))?",
            "are correct": r"(?: (?:ही|दोनों))?(?: (?:सही|ठीक))(?: (?:उत्तर|जवाब|विकल्प))? (?:है|हैं|आहे)|(?: (?:उत्तर|जवाब)) (?:है|हैं)",
            "choose ^": r" (?:को )?चुन\w*(?: (?:हूँ|हूं|है))?",
            "": r" (?:है|हैं|होगा|होगी|आहे)",
        },
    ),
    "th": Language(
        telling="",
        is_spaced=False,
        words={
            "answer": "คำตอบ|เฉลย|ตอบ",
            "option": "ตัวเลือก|ตัวอักษร|ข้อ",
            "wrong": "ไม่ถูกต้อง|ไม่ถูก|ผิด",
            "correct": "ที่ถูกต้อง|ที่ถูก|ถูกต้อง|ถูก",
            "best": "ที่ดีที่สุด|สุดท้าย",
            "is not": "ไม่ใช่|มิใช่",
            "is": "น่าจะเป็น|ควรเป็น|คือ|เป็น",
            "not": "ไม่",
            "or": "หรือ",
            "and": "และ",
            "but": "แต่",
            "because": "เพราะ|เนื่องจาก",
            "therefore": "ดังนั้น",
            "choose": "เลือก",
            "think": "คิดว่า",
            "if": "ถ้า|หาก|อาจ",
        },
        behind={
            "is not": r"\s*(?:เป็น)?(?:คำตอบ|ข้อ|ตัวเลือก)?(?:ที่)?(?:ไม่ถูก(?:ต้อง)?|ผิด)",
            "are correct": r"\s*(?:เป็นคำตอบที่)?(?:ถูกต้อง|ถูก(?=[\s.]|$))",  # before a verb, the mark of the passive
        },
    ),
    "zh": Language(
        telling="",
        is_spaced=False,
        words={
            "answer is": "(?:正确|正確)的(?:选项|選項)?(?:应该|應該)?[是为為]",
            "it is": "(?<![\u3400-\u9fff])(?:应该|應該|应当|應當)是",
            "answer": "最终答案|最終答案|答案|回答|解答|正解|正答|答",
            "option": "选项|選項",
            "wrong": "不正确|不正確|不对|不對|错误|錯誤|有误",
            "correct": "正确|正確|对的|對的",
            "best": "最佳|最合适|最合適|最恰当",
            "but": "而是|但是|然而|但",
            "is not": "不应该是|不应是|不會是|不会是|不是|并非|並非|不为|而非",
            "not choose": "(?:不(?:能|可以?|[该該宜会會要]|应该?|應該?)|没有|沒有|勿|无法|無法|避免|误|誤|错|錯)"
            "(?:选择|选|選擇|選)",
            "choose": "应该选择|應該選擇|应选择|应该选|應該選|应选|應選|选择|選擇|选|選",
            "is": "应该是|應該是|应当是|应为|應為|应是|是|为|為",
            "not": "不|没|沒|别",
            "or": "或者|或|还是|還是",
            "and": "以及|和|与|與|及",
            "because": "因为|因為|由于|由於",
            "therefore": "综上所述|綜上所述|综上|因此|所以|故",
            "think": "认为|認為|觉得|覺得",
            "if": "如果|若|假如|假设|可能|也许|是否",
            "?": "吗|嗎",
            "": "的|就|我们|我|本题|此题",
        },
        behind={
            "?": r"\s*(?:选项|選項|项|項)?(?:是|为|為)?(?:正确|正確|[对對])?的?(?:答案|选项|選項)?[吗嗎]",
            "are correct": r"\s*(?:选项|選項|项|項)?(?:都|均|皆|才)?(?:是|为|為)?最?(?:正确|正確|[对對](?=的|[。，,.\s]|$))的?"
            r"(?:答案|选项|選項)?",
            "are the answer": r"\s*(?:选项|選項|项|項)?(?:才)?(?:是|为|為)(?:答案|最终答案)",
        },
    ),
    "ja": Language(
        telling="",
        is_spaced=False,
        words={
            "answer is": "(?:正しい|最終的な|最も適切な)?(?:答え|回答|解答|正解|正答)(?:は|が)、?",
            "answer": "答え|回答|解答|正解|正答|答",
            "option": "選択肢",
            "therefore": "したがって|従って|よって|だから|つまり|ゆえに",
            "because": "なぜなら",
            "if": "もし",
            "choose": "(?:選択|選ぶ)(?=[:：])",
        },
        behind={
            "not ^ but": r"\s*(?:では|じゃ)なく[て、,]{0,2}\s*(?=[A-Za-z0-9(])",
            "is not ,": r"\s*(?:では|じゃ|で)(?:ない|ありません|なく)"
            r"|\s*(?:は|が)\s*(?:正しく|正解では|適切では|間違|誤)[^\W!-~]*"
            r"|\s*(?:(?:は|が|こそ)\s*(?:最も)?(?:正解|正しい|答え|正答|適切))?(?:だ|である)?と(?:は|も)?"
            r"(?:言え|いえ|限ら|限り|思い|思わ|思え|考え|考えられ)(?:な[いくか]|ませ)[^\W!-~]*"
            r"|\s*を選(?:(?:び|ば|択し)(?:な[いくか]|ませ)|んではいけ|"
            r"(?:ぶ|択する)(?:と(?![思良よい正])|べきでは|べきじゃ|ことは))[^\W!-~]*",
            "?": r"\s*(?:かもしれ|でしょうか|ですか|だろうか)[^\W!-~]*",
            "choose ^": r"\s*(?:を選|を選択|と答え)[^\W!-~]*",
            "are correct": r"\s*(?:の方)?(?:は|が|こそ)\s*(?:最も)?(?:正解|正しい|答え|正答|適切|正しく思)(?!く|で(?:は|な))"
            r"[^\W!-~]*",
            "and": r"\s*(?:と|および|及び|、)\s*(?=[A-Za-z0-9(])",
            "or": r"\s*(?:または|あるいは|もしくは|か)\s*(?=[A-Za-z0-9(])",
            ".": r"\s*番?(?:だと思い|と思い|と考え|となり|になり|です|である|だ)[^\W!-~]*",
        },
    ),
    "ko": Language(
        telling="",
        is_spaced=False,
        words={
            "answer is": r"(?:올바른 |맞는 |옳은 |최종 )?(?:정답|답변|해답|답)\s*(?:은|는|이|가)(?!\w)",
            "answer": "정답|답변|해답|답",
            "option": "선택지|보기",
            "therefore": "따라서|그러므로|그래서",
            "because": "왜냐하면",
            "if": "만약|만일",
            "or": "또는|혹은",
            "and": "그리고|및",
        },
        behind={
            "not ^ but": r"\s*번?\s*(?:이|가)?\s*아니라,?\s*(?=[A-Za-z0-9(])",
            "is not ,": r"\s*번?\s*(?:(?:이|가|은|는)\s*(?:정답이|답이|정답은|답은)?\s*)(?:아니|아닙|아닌|틀)\w*"
            r"|\s*번?\s*(?:이|가|은|는)\s*(?:정답|답|맞|옳|올바|적절)\w*?\s*(?:않|(?:[될할볼]\s*)?수\s*없)\w*"
            r"|\s*번?\s*(?:을|를)\s*(?:선택|고르|고를|택)\w*?(?:\s*(?:않|수\s*없)|면\s*(?:안|틀))\w*",
            "?": r"\s*번?\s*(?:일까요|인가요|일\s*수도|입니까)\w*",
            "choose ^": r"\s*번?\s*(?:을|를)\s*(?:선택|고르|고릅|골|택)\w*",
            "are correct": r"\s*번?\s*(?:이|가|은|는)?\s*(?:모두|둘 다)?\s*(?:정답|맞|옳|올바)\w*",
            "and": r"\s*(?:와|과|하고)\s*(?=[A-Za-z0-9(])",
            ".": r"\s*번?\s*(?:입니다|이다|이에요|예요|임|번)(?!\w)",
        },
    ),
}
_SCRIPTS = (  # the first that a text holds tells its language
    ("ja", "[\u3040-\u30ff]"),
    ("zh", "[\u3400-\u9fff]"),
    ("ko", "[\uac00-\ud7a3]"),
    ("th", "[\u0e01-\u0e5b]"),
    ("ar", "[\u0620-\u06ff]{2}"),
    ("he", "[\u05d0-\u05ea]{2}"),
    ("hi", "[\u0900-\u097f]{2}"),
    ("bn", "[\u0980-\u09ff]{2}"),
    ("ta", "[\u0b80-\u0bff]{2}"),
    ("ru", "[\u0400-\u04ff]{2}"),
    ("el", "[\u0370-\u03ff]{3}"),  # single letters are of formulas
)
_SCRIPT = re.compile("|".join(f"(?P<{name}>{characters})" for name, characters in _SCRIPTS))
_LANGUAGE_OF = {word: name for name, language in LANGUAGES.items() for word in language.telling.split("|") if word}
_TELLING = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_LANGUAGE_OF, key=len, reverse=True))})(?!\w)")
_MAY_TELL = re2.compile("|".join(sorted(_LANGUAGE_OF, key=len, reverse=True)).encode())
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_BESIDE = re.compile(rf"(?<=[{_UNSPACED}])(?=[A-Za-z0-9(*])|(?<=[A-Za-z0-9)*])(?=[{_UNSPACED}])")
_OTHER_MARKS = dict(
    zip(map(ord, "【】〔〕［］「」『』《》〈〉‹›„；،؟؛।॥’‘‚´"), '()()()""""""""""“;,?;..' + 4 * "'", strict=True)
)


def in_english(text: str, signs: Sequence[str]) -> str:
    """Returns a text with those words of its language in English that commit to an option; the signs, and English, stay."""
    plain = text if text.isascii() else _with_plain_signs(canonical(text), signs)
    name = _language(plain)
    if name is None:
        return plain
    words, behind = _compiled(name, tuple(signs))
    english = behind.sub(_said_behind(name), plain) if behind else plain
    return _BESIDE.sub(" ", words.sub(functools.partial(_word, name, frozenset(map(str.lower, signs))), english))


def _language(text: str) -> str | None:
    """Returns the language whose words stand in a text most often; None for English, and where none are known."""
    if not text.isascii():
        scripts = {each.lastgroup for each in _SCRIPT.finditer(text)}
        found = next((name for name, _ in _SCRIPTS if name in scripts), None)
        if found is not None:
            return found
    lower = text.lower()
    if _MAY_TELL.search(lower.encode("utf-8", "replace")) is None:  # most texts end here, ten times as quick as below
        return None
    times = Counter(_LANGUAGE_OF[word] for word in _TELLING.findall(lower))
    return times.most_common(1)[0][0] if times else None


def _said_behind(name: str) -> Callable[[re.Match[str]], str]:
    english = list(LANGUAGES[name].behind)

    def said(found: re.Match[str]) -> str:
        said = english[int(str(found.lastgroup)[1:])]
        return f" {said.replace('^', found['sign'])} " if "^" in said else f"{found['sign']} {said} "

    return said


def _word(name: str, signs: frozenset[str], found: re.Match[str]) -> str:
    text = found[0]
    if text.lower() in signs:
        return text
    group = str(found.lastgroup)
    said = "wrong answer" if group == "wrong" else list(LANGUAGES[name].words)[int(group[1:])]
    return f" {said} " if not LANGUAGES[name].is_spaced or text.endswith("'") else said


@functools.lru_cache(maxsize=64)
def _compiled(name: str, signs: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """Returns what finds the words of a language, and what finds an option with what is said behind it."""
    language = LANGUAGES[name]
    start, end = (r"(?<!\w)", r"(?:(?<=')|(?!\w))") if language.is_spaced else ("", "")
    groups = [f"(?P<w{n}>{phrases})" for n, phrases in enumerate(language.words.values())]
    sign = "|".join(re.escape(each) for each in sorted(filter(None, signs), key=len, reverse=True))
    if language.is_spaced:
        groups.insert(0, _wrong_behind(language.words, sign))
    words = re.compile(f"{start}(?:{'|'.join(groups)}){end}", re.IGNORECASE)
    if not language.behind or not any(signs):
        return words, None
    tails = "|".join(f"(?P<b{n}>{tail})" for n, tail in enumerate(language.behind.values()))
    whole = r"(?!\w)" if language.is_spaced else ""
    return words, re.compile(
        rf"(?<![A-Za-z0-9])(?P<sign>(?:{sign})(?![A-Za-z0-9])[)\]*\"]{{0,4}})(?:{tails}){whole}", re.IGNORECASE
    )


def _wrong_behind(words: Mapping[str, str], sign: str) -> str:
    """Returns the pattern of an answer that is called wrong behind its noun: "la respuesta incorrecta", "Antwort A: falsch"."""
    noun, between = f"(?:{words['answer']}|{words['option']})", rf"(?: yang)? |\s+(?:{sign})[)*]{{0,3}}\s*[:–—-]\s*"
    return f"(?P<wrong>{noun}(?:{between})(?:{words['wrong']}))"


def _with_plain_signs(text: str, signs: Sequence[str]) -> str:
    """Returns a text with letters and digits of full width, in circles or of mathematics in ASCII; those of the signs stay."""
    own = set("".join(signs))
    plain = {ord(each): _plain(each) for each in set(text) if not each.isascii() and each not in own}
    return text.translate({code: each for code, each in plain.items() if each is not None})


@functools.lru_cache(maxsize=1 << 12)
def _plain(character: str) -> str | None:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    code = ord(character)
    if code in _OTHER_MARKS:
        return _OTHER_MARKS[code]
    for first in (0x1F150, 0x1F170):  # white letters in black circles and squares
        if first <= code < first + 26:
            return chr(code - first + ord("A"))
    kind = unicodedata.decomposition(character).partition(" ")[0]
    form = unicodedata.normalize("NFKC", character)
    is_sign = (
        kind in ("<wide>", "<circle>", "<square>", "<font>", "<compat>")
        and form.isascii()
        and form.strip("()").isalnum()
    )
    return form if is_sign or (kind == "<wide>" and form.isascii()) else None
