"""`python -m onepass.cli` is `onepass`."""

from onepass.cli import main

main()
