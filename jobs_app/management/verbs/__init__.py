"""What `manage.py jobs` can do: one file per verb.

A verb is a module with a docstring, which is its help, `add_arguments(parser)` and `handle(options, out)`. One that
works without a database says so: `ASKS_DATABASE = False`; and so does one that prints no data: `HAS_FORMATS = False`.
Which command was asked is in its options: `asked`.
"""
