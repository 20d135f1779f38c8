"""The shipped texts: what the model is told at soft and at warning, and how it is asked for a summary."""
