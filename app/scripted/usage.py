"""Usage figures of the scripted model: plausible, and the same on every run."""

from app.scripted.script import Answer, Conversation

_CHARACTERS_PER_TOKEN = 4


def input_tokens(conversation: Conversation) -> int:
    """About what a real model would count for this conversation."""
    characters = sum(len(message.text) for message in conversation.messages)
    return 1 + characters // _CHARACTERS_PER_TOKEN


def output_tokens(answer: Answer) -> int:
    """About what a real model would count for this answer."""
    said = [answer.text, *(f"{call.tool}{call.args}" for call in answer.calls)]
    return 1 + sum(len(each) for each in said) // _CHARACTERS_PER_TOKEN


def reported_tokens(conversation: Conversation, answer: Answer) -> tuple[int, int]:
    """Input and output, as the answer says."""
    if not answer.reports_usage:
        return 0, 0
    return input_tokens(conversation), output_tokens(answer)
