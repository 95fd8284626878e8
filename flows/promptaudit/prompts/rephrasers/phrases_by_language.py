"""Lists the words and phrases with which `rules` rewords German, French and Spanish.

A phrase addresses nobody, or the reader as the instruction does: familiarly (du, tu, tú) or formally (Sie, vous, usted).
In a frame {do} is the imperative, {inf} its infinitive with all that belongs to it, and {to} the same after "zu" or "de".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Address = Literal["nobody", "familiar", "formal"]
Phrases = Mapping[Address, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """The infinitive of a verb, its imperatives, and other verbs for it, any or only before an indirect question.

    `particle` is what a German verb puts at the end of its clause.
    """

    infinitive: str
    familiar: str
    formal: str
    others: tuple[str, ...] = ()
    before_question: tuple[str, ...] = ()
    particle: str = ""

    def forms(self) -> Mapping[Address, str]:
        """Maps each address to the form in which the verb has it; to nobody it is the infinitive."""
        return {"familiar": self.familiar, "formal": self.formal, "nobody": self.infinitive}


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguagePhrases:
    """What is put in, by the purpose that it has.

    `words` are patterns with what may stand in their place. `asks` are the words with which indirect questions begin,
    `joins` finds a joint of two parts that may hold a second imperative.
    """

    verbs: Mapping[str, Verb]
    words: tuple[tuple[str, tuple[str, ...]], ...]
    asks: str
    joins: str
    is_formal: str
    is_familiar: str
    frames: Phrases
    imperative_frames: Phrases
    question_frames: tuple[str, ...]
    openings: Phrases
    roles: Phrases
    closings: Phrases
    has_verb_last: bool = False

    @property
    def requests(self) -> frozenset[str]:
        """Collects the first words of imperatives, and infinitives, in lower case."""
        forms = (form for verb in self.verbs.values() for form in verb.forms().values())
        return frozenset(form.split()[0].casefold() for form in forms)


def _table(text: str) -> dict[str, Verb]:
    # a line a verb: infinitive, familiar, formal; after = verbs for it, after ? verbs for it before a question
    verbs = {}
    for line in text.strip().splitlines():
        forms, _, rest = line.partition("=")
        others, _, before_question = rest.partition("?")
        infinitive, familiar, formal = forms.split()
        particle, _, _ = infinitive.rpartition("|")
        verbs[infinitive.replace("|", "")] = Verb(
            infinitive=infinitive.replace("|", ""),
            familiar=familiar,
            formal=formal.replace("_", " "),
            others=tuple(others.split()),
            before_question=tuple(before_question.split()),
            particle=particle,
        )
    return verbs


_GERMAN = _table("""
klassifizieren klassifiziere klassifizieren_Sie = kategorisieren
kategorisieren kategorisiere kategorisieren_Sie = klassifizieren
bestimmen bestimme bestimmen_Sie = ermitteln
ermitteln ermittle ermitteln_Sie = bestimmen
bewerten bewerte bewerten_Sie = beurteilen
beurteilen beurteile beurteilen_Sie = bewerten
prüfen prüfe prüfen_Sie = überprüfen
überprüfen überprüfe überprüfen_Sie = prüfen
analysieren analysiere analysieren_Sie = untersuchen
untersuchen untersuche untersuchen_Sie = analysieren
entscheiden entscheide entscheiden_Sie = ? bestimmen beurteilen
identifizieren identifiziere identifizieren_Sie = bestimmen ermitteln
schätzen schätze schätzen_Sie
erkennen erkenne erkennen_Sie
nennen nenne nennen_Sie
lesen lies lesen_Sie
sagen sage sagen_Sie
beantworten beantworte beantworten_Sie
extrahieren extrahiere extrahieren_Sie
übersetzen übersetze übersetzen_Sie
beschreiben beschreibe beschreiben_Sie
schreiben schreibe schreiben_Sie
vergleichen vergleiche vergleichen_Sie
wählen wähle wählen_Sie
zu|ordnen ordne ordnen_Sie
an|geben gib geben_Sie
ein|stufen stufe stufen_Sie
fest|stellen stelle stellen_Sie
zu|weisen weise weisen_Sie
aus|wählen wähle wählen_Sie
ein|schätzen schätze schätzen_Sie
zusammen|fassen fasse fassen_Sie
""")
_FRENCH = _table("""
classer classe classez = catégoriser
classifier classifie classifiez = classer catégoriser
catégoriser catégorise catégorisez = classer
déterminer détermine déterminez = ? établir
établir établis établissez = déterminer
évaluer évalue évaluez = apprécier
apprécier apprécie appréciez = évaluer
indiquer indique indiquez = préciser
préciser précise précisez = indiquer
choisir choisis choisissez = sélectionner
sélectionner sélectionne sélectionnez = choisir
identifier identifie identifiez = repérer
analyser analyse analysez = examiner
examiner examine examinez = analyser
attribuer attribue attribuez = assigner
assigner assigne assignez = attribuer
vérifier vérifie vérifiez = contrôler
contrôler contrôle contrôlez = vérifier
décider décide décidez = ? déterminer
juger juge jugez
lire lis lisez
dire dis dites
répondre réponds répondez
donner donne donnez
extraire extrais extrayez
traduire traduis traduisez
décrire décris décrivez
résumer résume résumez
comparer compare comparez
estimer estime estimez
repérer repère repérez
trouver trouve trouvez
détecter détecte détectez = repérer
""")
_SPANISH = _table("""
clasificar clasifica clasifique = categorizar
categorizar categoriza categorice = clasificar
determinar determina determine = ? establecer
establecer establece establezca = determinar
evaluar evalúa evalúe = valorar
valorar valora valore = evaluar
indicar indica indique = señalar
señalar señala señale = indicar
elegir elige elija = escoger seleccionar
escoger escoge escoja = elegir seleccionar
seleccionar selecciona seleccione = elegir escoger
identificar identifica identifique = reconocer
reconocer reconoce reconozca = identificar
analizar analiza analice = examinar
examinar examina examine = analizar
asignar asigna asigne = atribuir
atribuir atribuye atribuya = asignar
verificar verifica verifique = comprobar
comprobar comprueba compruebe = verificar
decidir decide decida = ? determinar
juzgar juzga juzgue
leer lee lea
decir di diga
responder responde responda
extraer extrae extraiga
traducir traduce traduzca
describir describe describa
resumir resume resuma
comparar compara compare
detectar detecta detecte
""")
BY_LANGUAGE: Mapping[str, LanguagePhrases] = {
    "German": LanguagePhrases(
        verbs=_GERMAN,
        words=(
            (r"\bfolgend(e[nmrs]?)(?= \w)", (r"nachstehend\1",)),
            (r"\bnachstehend(e[nmrs]?)(?= \w)", (r"folgend\1",)),
            (r"\bgegebene(n|m|r|s)?(?= \w)", (r"vorliegende\1",)),
            (r"\bpassend(e[nmrs]?)(?= \w)", (r"geeignet\1",)),
            (r"\bgeeignet(e[nmrs]?)(?= \w)", (r"passend\1",)),
            (r"\bkorrekt(e[nmrs]?)(?= \w)", (r"richtig\1",)),
            (r"\brichtig(e[nmrs]?)(?= \w)", (r"korrekt\1",)),
            (r"\bgenau (?=eine?[nmrs]?\b)", ("exakt ",)),
            (r"\banhand (?=de[rs]\b|von\b|(?:ihre|seine|eine|diese)[rs]\b)", ("auf der Grundlage ",)),
            (r"\bauf der Grundlage (?=de[rs]\b|von\b|(?:ihre|seine|eine|diese)[rs]\b)", ("anhand ",)),
            (r"\bgemäß (?=de[rm]\b|(?:ihre|seine|eine|diese)[rm]\b)", ("entsprechend ",)),
            (r"\bKategorie(n?)\b(?! [\d\ue000])", (r"Klasse\1",)),
            (r"\bKlasse(n?)\b(?! [\d\ue000])", (r"Kategorie\1",)),
            (r"\bNachricht\b", ("Mitteilung",)),
            (r"\bMitteilung\b", ("Nachricht",)),
        ),
        asks="ob|was|wer|wen|wem|wie|wo|wann|warum|welche[mnrs]?|zu welche[mnr]|in welche[mnr]|dass",
        joins=r" (?:und|oder|sowie) (?!de[rnms] |die |das |eine?[nmrs]? |ihre?[nmrs]? |seine?[nmrs]? |\ue000)",
        is_formal=r"\b(?:Ihnen|Ihre[mnrs]?)\b|(?<=\w )Sie\b",
        is_familiar=r"\b(?:[Dd]u|[Dd]ir|[Dd]ich|[Dd]eine?[mnrs]?)\b",
        frames={
            "nobody": (
                "Bitte {inf}.",
                "Die Aufgabe ist es, {to}.",
                "Das Ziel ist es, {to}.",
                "Es geht darum, {to}.",
                "Hier gilt es, {to}.",
            ),
            "familiar": (
                "Deine Aufgabe ist es, {to}.",
                "Ich bitte dich, {to}.",
                "Du sollst {inf}.",
                "Könntest du bitte {inf}?",
                "Kannst du {inf}?",
            ),
            "formal": (
                "Ihre Aufgabe ist es, {to}.",
                "Ich bitte Sie, {to}.",
                "Sie sollen {inf}.",
                "Könnten Sie bitte {inf}?",
                "Können Sie {inf}?",
            ),
        },
        imperative_frames={
            "nobody": (
                "Bitte {do}.",
                "{Verb} bitte{rest}.",
                "Die Aufgabe lautet: {Do}.",
                "Zu tun ist Folgendes: {Do}.",
            ),
            "familiar": ("Deine Aufgabe lautet: {Do}.", "Ich bitte dich um Folgendes: {Do}."),
            "formal": ("Ihre Aufgabe lautet: {Do}.", "Ich bitte Sie um Folgendes: {Do}."),
        },
        question_frames=("Die Frage lautet: {ask}", "Gefragt ist: {ask}", "Es geht um diese Frage: {ask}"),
        openings={
            "nobody": ("Aufgabe:", "Anweisung:", "Hier ist die Aufgabe.", "Das ist zu tun:", "Bitte genau lesen."),
            "familiar": ("Das ist deine Aufgabe.", "Wir brauchen dabei deine Hilfe.", "Lies genau."),
            "formal": ("Das ist Ihre Aufgabe.", "Wir brauchen dabei Ihre Hilfe.", "Lesen Sie genau."),
        },
        roles={
            "nobody": (),
            "familiar": (
                "Du hilfst einem Forschungsteam.",
                "Du arbeitest sorgfältig.",
                "Du hast viel Erfahrung mit Texten.",
            ),
            "formal": (
                "Sie helfen einem Forschungsteam.",
                "Sie arbeiten sorgfältig.",
                "Sie haben viel Erfahrung mit Texten.",
            ),
        },
        closings={
            "nobody": (
                "Danke.",
                "Vielen Dank für die Hilfe.",
                "Bitte sorgfältig und einheitlich vorgehen.",
                "Bitte auf die Einzelheiten achten.",
                "Bitte alles berücksichtigen, was geschrieben steht.",
                "Im Zweifel zählt, was am wahrscheinlichsten ist.",
            ),
            "familiar": ("Denke gut nach, bevor du antwortest.", "Achte auf die Einzelheiten."),
            "formal": ("Denken Sie gut nach, bevor Sie antworten.", "Achten Sie auf die Einzelheiten."),
        },
        has_verb_last=True,
    ),
    "French": LanguagePhrases(
        verbs=_FRENCH,
        words=(
            (r"\bselon (?=l[ae] |les |l'|l\u2019|son |sa |ses |leurs? |cette |cet? |une? )", ("d'après ",)),
            (r"\bd['\u2019]après ", ("selon ",)),
            (r"\ble type (?=de |d'|d\u2019|du )", ("le genre ",)),
            (r"\ble genre (?=de |d'|d\u2019|du )", ("le type ",)),
            (r"\bcatégorie(s?)\b", (r"classe\1",)),
            (r"\bci-dessous\b", ("ci-après",)),
            (r"\bci-après\b", ("ci-dessous",)),
            (r"\bexactement un (?=\w)", ("un et un seul ",)),
            (r"\bexactement une (?=\w)", ("une et une seule ",)),
        ),
        asks="si|s['\u2019]ils?|(?:à )?quel(?:le)?s?|qui|comment|où|quand|pourquoi|combien|(?:ce )?qu(?:e|i|['\u2019])",
        joins=r" (?:et|ou|puis) (?!l[ae] |les |l['\u2019]|une? |des? |du |d['\u2019]|en |s[aeo]n? |ses |\ue000)",
        is_formal=r"(?i:\b(?:vous|votre|vos|veuillez)\b|\w{2}ez\b)",
        is_familiar=r"(?i:\b(?:tu|te|toi|ta|tes)\b)",
        frames={
            "nobody": (
                "Il s'agit {to}.",
                "La tâche consiste à {inf}.",
                "Le but est {to}.",
                "Merci {to}.",
                "Il faut {inf}.",
                "Prière {to}.",
            ),
            "familiar": (
                "Ta tâche consiste à {inf}.",
                "Je te demande {to}.",
                "Tu dois {inf}.",
                "Peux-tu {inf} ?",
                "Pourrais-tu {inf}, s'il te plaît ?",
            ),
            "formal": (
                "Veuillez {inf}.",
                "Votre tâche consiste à {inf}.",
                "Je vous demande {to}.",
                "Vous devez {inf}.",
                "Pouvez-vous {inf} ?",
                "Pourriez-vous {inf}, s'il vous plaît ?",
            ),
        },
        imperative_frames={
            "nobody": ("La consigne est la suivante : {do}.",),
            "familiar": ("S'il te plaît, {do}.", "{Do}, s'il te plaît."),
            "formal": ("S'il vous plaît, {do}.", "{Do}, s'il vous plaît."),
        },
        question_frames=(
            "La question est la suivante : {ask}",
            "Voici la question : {ask}",
            "Merci de répondre à cette question : {ask}",
        ),
        openings={
            "nobody": (
                "Tâche :",
                "Consigne :",
                "Voici la tâche.",
                "Voici ce qu'il faut faire :",
                "À lire avec attention.",
            ),
            "familiar": ("Voici ta tâche.", "Nous avons besoin de ton aide.", "Suis cette consigne :"),
            "formal": ("Voici votre tâche.", "Nous avons besoin de votre aide.", "Veuillez suivre cette consigne :"),
        },
        roles={
            "nobody": (),
            "familiar": (
                "Tu aides une équipe de recherche.",
                "Tu travailles avec soin.",
                "Tu connais bien ce genre de tâche.",
            ),
            "formal": (
                "Vous aidez une équipe de recherche.",
                "Vous travaillez avec soin.",
                "Vous connaissez bien ce genre de tâche.",
            ),
        },
        closings={
            "nobody": (
                "Merci.",
                "Merci d'avance.",
                "Chaque détail compte.",
                "Le soin et la cohérence sont importants.",
                "Il faut tenir compte de tout ce qui est écrit.",
                "En cas de doute, c'est le plus probable qui compte.",
            ),
            "familiar": ("Réfléchis bien avant de répondre.", "Travaille avec soin."),
            "formal": ("Réfléchissez bien avant de répondre.", "Travaillez avec soin."),
        },
    ),
    "Spanish": LanguagePhrases(
        verbs=_SPANISH,
        words=(
            (r"\bsegún (?=el |la |los |las |sus? |una? |est[ea] )", ("de acuerdo con ",)),
            (r"\bde acuerdo con (?=el |la |los |las |sus? |una? |est[ea] )", ("según ",)),
            (r"\bcategoría(s?)\b", (r"clase\1",)),
            (r"\bexactamente un (?=\w)", ("un solo ",)),
            (r"\bexactamente una (?=\w)", ("una sola ",)),
        ),
        asks="si|qué|quién(?:es)?|cómo|cuál(?:es)?|cuándo|dónde|cuánt[oa]s?|por qué|a qué|que",
        joins=r" (?:y|e|o|u) (?!el |la |los |las |una? |sus? |del? |en |\ue000)",
        is_formal=r"(?i:\busted\b)",
        is_familiar=r"(?i:\b(?:tú|te|ti|tus?)\b)",
        frames={
            "nobody": (
                "Se trata de {inf}.",
                "La tarea consiste en {inf}.",
                "El objetivo es {inf}.",
                "Hay que {inf}.",
                "Se pide {inf}.",
            ),
            "familiar": (
                "Tu tarea es {inf}.",
                "Debes {inf}.",
                "Tienes que {inf}.",
                "¿Puedes {inf}?",
                "¿Podrías {inf}, por favor?",
            ),
            "formal": (
                "Su tarea es {inf}.",
                "Usted debe {inf}.",
                "Tiene que {inf}.",
                "¿Puede {inf}?",
                "¿Podría {inf}, por favor?",
            ),
        },
        imperative_frames={
            "nobody": ("Por favor, {do}.", "{Do}, por favor.", "La instrucción es esta: {do}."),
            "familiar": (),
            "formal": (),
        },
        question_frames=("La pregunta es esta: {ask}", "Se pregunta lo siguiente: {ask}", "Esta es la pregunta: {ask}"),
        openings={
            "nobody": (
                "Tarea:",
                "Instrucción:",
                "Esta es la tarea.",
                "Esto es lo que hay que hacer:",
                "Se debe leer con atención.",
            ),
            "familiar": ("Esta es tu tarea.", "Necesitamos tu ayuda.", "Sigue esta instrucción:"),
            "formal": ("Esta es su tarea.", "Necesitamos su ayuda.", "Siga esta instrucción:"),
        },
        roles={
            "nobody": (),
            "familiar": (
                "Ayudas a un equipo de investigación.",
                "Trabajas con cuidado.",
                "Conoces bien este tipo de tareas.",
            ),
            "formal": (
                "Usted ayuda a un equipo de investigación.",
                "Usted trabaja con cuidado.",
                "Usted conoce bien este tipo de tareas.",
            ),
        },
        closings={
            "nobody": (
                "Gracias.",
                "Muchas gracias.",
                "Cada detalle cuenta.",
                "El cuidado y la coherencia son importantes.",
                "Hay que tener en cuenta todo lo que está escrito.",
                "En caso de duda, vale lo más probable.",
            ),
            "familiar": ("Piénsalo bien antes de responder.", "Trabaja con cuidado."),
            "formal": ("Piénselo bien antes de responder.", "Trabaje con cuidado."),
        },
    ),
}
