"""The built-in model: a small planner that knows only what the tool results of its request say.

No network, no key, no state between requests; scripts replace its thinking where an exact sequence is
wanted. Nothing may come in here but the seam (`tui.models.base`) and the words (`tui.messages`).

    from pathlib import Path
    RehearsalModel(window=16_000, pace=0, script=load_script(Path("demo.toml")))

The form of a script is described in `tui.models.rehearsal.script`.
"""

from tui.models.rehearsal.model import WINDOW, RehearsalModel
from tui.models.rehearsal.script import Script, ScriptError, load_script
from tui.models.rehearsal.tokens import count_tokens

__all__ = ["WINDOW", "RehearsalModel", "Script", "ScriptError", "count_tokens", "load_script"]
