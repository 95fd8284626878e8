"""Collects the cards: frozen, every field described, unknown keys refused.

A card is data: it holds no code and no raw engine argument. It may name code, a function or a command, which runs once
its user has trusted it (`promptaudit.cards.trust`).
"""

from promptaudit.registry.audit_cards import (
    AuditCard,
    Budget,
    FormatLimits,
    Policy,
    Repetitions,
    Samples,
    Strategy,
)
from promptaudit.registry.base import Card
from promptaudit.registry.field_cards import ALL_FIELDS, FieldCard
from promptaudit.registry.judge_cards import Controls, JudgeCard
from promptaudit.registry.model_cards import (
    Batching,
    Examinee,
    Grid,
    Limits,
    ModelCard,
    Price,
    Sampling,
    SimulatedAnswers,
    StructuredOutput,
    VllmServer,
    WeakOn,
)
from promptaudit.registry.rephraser_cards import SELF, WORDED_ALONE, RephraserCard, Rephrasing, Variation
from promptaudit.registry.task_cards import (
    INSTRUCTED,
    WITHOUT_LABELS,
    Data,
    JsonFieldReader,
    Level,
    Message,
    PythonReader,
    ReaderName,
    RegexReader,
    TaskCard,
    TaskLabel,
    Translation,
    composed,
    is_number,
)
from promptaudit.registry.template_cards import Example, Template, TemplateCard

__all__ = [
    "ALL_FIELDS",
    "INSTRUCTED",
    "SELF",
    "WITHOUT_LABELS",
    "WORDED_ALONE",
    "AuditCard",
    "Batching",
    "Budget",
    "Card",
    "Controls",
    "Data",
    "Examinee",
    "Example",
    "FieldCard",
    "FormatLimits",
    "Grid",
    "JsonFieldReader",
    "JudgeCard",
    "Level",
    "Limits",
    "Message",
    "ModelCard",
    "Policy",
    "Price",
    "PythonReader",
    "ReaderName",
    "RegexReader",
    "Repetitions",
    "RephraserCard",
    "Rephrasing",
    "Samples",
    "Sampling",
    "SimulatedAnswers",
    "Strategy",
    "StructuredOutput",
    "TaskCard",
    "TaskLabel",
    "Template",
    "TemplateCard",
    "Translation",
    "Variation",
    "VllmServer",
    "WeakOn",
    "composed",
    "is_number",
]
