"""Runs: a list of work done unattended and verified by the program."""
