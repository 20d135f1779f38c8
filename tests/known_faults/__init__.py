"""Faults that users of like tools reported in public, each with the tests that show that clew has not got it.

One file for each class; a fault is a kind, so its tests show the kind and not one input alone.
"""
