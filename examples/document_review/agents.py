"""Who reviews: what each agent asks of a paragraph, and how long its review of a document may take."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from examples.pace import minutes

USUAL_TIMEOUT = minutes(4)  # of an agent that is not listed
LONGEST_TIMEOUT = minutes(20)  # of all that are not listed
LONGEST_CALL = minutes(3)  # of one call to the model

# Listed by somebody who knows the agent, so even the one above the longest stands as it is.
TIMEOUTS: Mapping[str, float] = MappingProxyType(
    {
        "spelling-grammar": minutes(6),
        "simple-link-verifier": minutes(8),
        "fallacy-check": minutes(10),
        "multi-fallacy-eval": minutes(15),
        "agentic": minutes(120),
    }
)

# Asked about each paragraph, all of them at once.
QUESTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "spelling-grammar": ("spelling", "grammar"),
        "simple-link-verifier": ("links",),
        "fallacy-check": ("fallacies",),
        "multi-fallacy-eval": ("fallacies", "evidence", "tone"),
        "agentic": ("plan", "research", "verdict"),
        "readability": ("readability",),
    }
)

NAMES = tuple(QUESTIONS)


def questions_of(agent: str) -> tuple[str, ...]:
    """An agent that is not known has one question: its own name."""
    return QUESTIONS.get(agent, (agent,))
