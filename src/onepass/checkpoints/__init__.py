"""Checkpoints: the state of a pass and its place in the stream, so that a run can stop and go on to the same bits.

`checkpoint` is the face (save, load, resume, the lock), `packing` turns a state into JSON and arrays, `position` holds
a stored position against what a stream can have, `tensors` is the file. The state itself is each part's own to check.
"""
