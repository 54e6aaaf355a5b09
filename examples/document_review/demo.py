"""What the demo starts with: reviews that end in each of the ways in which one can."""

from __future__ import annotations

from examples.document_review.models import OPEN, Document
from examples.document_review.reviewing import request_review
from examples.pace import minutes
from examples.programs import Program

PROGRAMS = {"model": Program("examples.document_review.model", "MODEL_URL")}

SLOW = ", ".join([f"slow {minutes(1.5):g}"] * 4)  # seconds: three such calls are more than the usual four minutes

TEXTS = {
    "On oaks": "Oaks live long and drop acorns.\n\nWho plants one plants it for others.",
    "On busy models": "[[429, 503]] This model is asked by everybody today.\n\nIt answers in the end.",
    "On locked doors": "[[401]] Whoever has no key may knock as often as they like.",
    "On patience": f"[[{SLOW}]] A slow answer.\n\nAnother one.\n\nStill not done.\n\nToo late.",
}

WANTED = (
    ("On oaks", "spelling-grammar"),
    ("On oaks", "multi-fallacy-eval"),
    ("On busy models", "readability"),
    ("On locked doors", "fallacy-check"),
    ("On patience", "readability"),
)


def fill() -> None:
    """Documents are there once, and each has one review of each agent: an ended one makes room for the next."""
    documents = {
        title: Document.objects.update_or_create(title=title, defaults={"text": TEXTS[title]})[0] for title in TEXTS
    }
    for title, agent in WANTED:
        reviews = documents[title].reviews.filter(agent=agent)
        if not reviews.filter(status__in=OPEN).exists():
            reviews.delete()
            request_review(documents[title], agent, actor="demo")
