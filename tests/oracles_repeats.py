"""What the repeat alarm looks for, as plainly as it can be said. Imports nothing of ours."""


def repeats(rows, window=64, different=32):
    """{row at which a window ends: row at which the same window ended before}, counted from 1."""
    seen, found = {}, {}
    for end in range(window, len(rows) + 1):
        content = tuple(rows[end - window : end])
        if len(set(content)) >= different:
            if content in seen:
                found[end] = seen[content]
            seen.setdefault(content, end)
    return found
