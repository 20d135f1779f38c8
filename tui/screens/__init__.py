"""The screens: the one a session lives on, and the pages over it.

In: agent events and what a person typed. Out: requests to the agent through `link`, and messages to the app.
"""
