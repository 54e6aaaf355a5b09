"""Who reviews: what each agent asks about a paragraph, and what its review of a document may take."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.db.models import TextChoices

from examples.pace import minutes

USUAL_TIMEOUT = minutes(4)  # of an agent that is not listed
LONGEST_TIMEOUT = minutes(20)  # of all that are not listed
LONGEST_CALL = minutes(3)  # of one call to the model
LISTED_PRICE = 0.000015  # USD for a token


class Agent(TextChoices):
    SPELLING_GRAMMAR = "spelling-grammar"
    SIMPLE_LINK_VERIFIER = "simple-link-verifier"
    FALLACY_CHECK = "fallacy-check"
    MULTI_FALLACY_EVAL = "multi-fallacy-eval"
    AGENTIC = "agentic"
    READABILITY = "readability"


# Listed by somebody who knows the agent, so even the one above the longest stands as it is.
TIMEOUTS: Mapping[str, float] = MappingProxyType(
    {
        Agent.SPELLING_GRAMMAR.value: minutes(6),
        Agent.SIMPLE_LINK_VERIFIER.value: minutes(8),
        Agent.FALLACY_CHECK.value: minutes(10),
        Agent.MULTI_FALLACY_EVAL.value: minutes(15),
        Agent.AGENTIC.value: minutes(120),
    }
)

# Asked about each paragraph, all of them at once.
QUESTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        Agent.SPELLING_GRAMMAR.value: ("spelling", "grammar"),
        Agent.SIMPLE_LINK_VERIFIER.value: ("links",),
        Agent.FALLACY_CHECK.value: ("fallacies",),
        Agent.MULTI_FALLACY_EVAL.value: ("fallacies", "evidence", "tone"),
        Agent.AGENTIC.value: ("plan", "research", "verdict"),
        Agent.READABILITY.value: ("readability",),
    }
)
