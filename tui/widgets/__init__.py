"""The widgets: each shows a value and emits a message; none holds session state or calls a model.

In: frozen values. Every foreign string passes through `sanitise` and is never read as markup.
"""
