"""clew: a terminal UI for agent sessions that never lose the thread."""

__all__ = ["__version__"]

__version__ = "0.1.0"
