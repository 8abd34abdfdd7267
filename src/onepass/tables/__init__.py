"""Tables: what each column holds, and the rows that are made of it.

A plan says what each column is (`plan.py`), found from the first rows where the user does not say it (`finding.py`).
`encoding.py` makes rows by a plan, of Arrow columns, from whatever file or frame these came. Numbers have the first
places; categories and words are hashed into 2^bits places behind them, so that no list of values must be known before
the pass; `feature_names.py` remembers what the places met are called.
"""
