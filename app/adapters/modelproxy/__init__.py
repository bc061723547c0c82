"""The model proxy: what stands between a coding CLI and its model.

The CLI gets an address on loopback and a key that is worth nothing elsewhere. Every request for
an answer is judged by the gate before it is sent on with the real key, and every answer is
counted, whoever in the CLI asked for it: its agent, its sub-agents, its compaction.
"""

from app.adapters.modelproxy.bounds import Bounds
from app.adapters.modelproxy.doors import doors_of
from app.adapters.modelproxy.proxy import ModelProxy
from app.adapters.modelproxy.upstream import Upstream

__all__ = ["Bounds", "ModelProxy", "Upstream", "doors_of"]
