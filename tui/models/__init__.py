"""Models: one adapter per wire protocol behind one seam, a catalogue, keys, the retry rules.

In: a `Request` of neutral messages. Out: `ModelEvent`s, or one typed `ModelError`. httpx lives here alone.
"""
