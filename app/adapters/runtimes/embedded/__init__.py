"""The embedded runtime: the agent's loop runs in this process, with tools of our own.

`runtime` opens sessions, `session` is the loop, `calls` asks the model, `probe` finds out whether
it answers, `tools` and `files` do what the model asks for, `conversation` keeps what was said.
Nothing here imports a model library before the first session is opened.
"""

from app.adapters.runtimes.embedded.bounds import Bounds
from app.adapters.runtimes.embedded.models import MakeModel, models_of
from app.adapters.runtimes.embedded.probe import why_silent
from app.adapters.runtimes.embedded.runtime import EmbeddedRuntime

__all__ = ["Bounds", "EmbeddedRuntime", "MakeModel", "models_of", "why_silent"]
