"""The transcript: entries become blocks (`blocks`), blocks become rows (`render`), rows are painted (`view`).

Only `Transcript` and `view` know Textual's widgets; everything below is pure. In come blocks, changes and
the text of a stream; nothing here reads a log or calls a model.
"""

from tui.widgets.transcript.blocks import Added, Block, BlockBuilder, Change, Replaced, fold
from tui.widgets.transcript.transcript import Transcript

__all__ = ["Added", "Block", "BlockBuilder", "Change", "Replaced", "Transcript", "fold"]
