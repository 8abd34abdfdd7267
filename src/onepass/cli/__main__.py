"""`python -m onepass.cli` is `onepass`."""

from onepass.cli import main

if __name__ == "__main__":  # worker processes of a local cluster import this module under another name
    main()
