"""What the demo starts with: reviews that end in each of the ways in which one can."""

from __future__ import annotations

from examples.document_review.agents import Agent
from examples.document_review.models import OPEN, Document
from examples.document_review.reviewing import request_review
from examples.pace import minutes
from examples.programs import Program

PROGRAMS = {"model": Program("examples.document_review.language_model", "MODEL_URL", 8106)}

SLOW = ", ".join([f"slow {minutes(1.5):g}"] * 4)  # seconds: three such calls are more than the usual four minutes

TEXTS = {
    "On oaks": "Oaks live long and drop acorns.\n\nWho plants one plants it for others.",
    "On busy models": "[[429, 503]] This model is asked by everybody today.\n\nIt answers in the end.",
    "On locked doors": "[[401]] Whoever has no key may knock as often as they like.",
    "On patience": f"[[{SLOW}]] A slow answer.\n\nAnother one.\n\nStill not done.\n\nToo late.",
}

WANTED = (
    ("On oaks", Agent.SPELLING_GRAMMAR),
    ("On oaks", Agent.MULTI_FALLACY_EVAL),
    ("On busy models", Agent.READABILITY),
    ("On locked doors", Agent.FALLACY_CHECK),
    ("On patience", Agent.READABILITY),
)


def fill() -> None:
    """Documents are there once. What is under way already is not asked for again."""
    for title, text in TEXTS.items():
        Document.objects.update_or_create(title=title, defaults={"text": text})
    for title, agent in WANTED:
        document = Document.objects.get(title=title)
        if not document.reviews.filter(agent=agent, status__in=OPEN).exists():
            request_review(document, agent, actor="demo")
