"""The slash commands: their table, and how typed text becomes one.

Pure; what a command does is done by `tui.screens.commanding`.
"""
