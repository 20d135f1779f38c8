"""The plain command line: sub-commands that print and leave, and questions asked before the app opens.

In: arguments, the user's places. Out: text or JSON on stdout, an exit status. Knows no Textual; every
foreign word is made plain before it is printed.
"""
