"""Checkpoints: the state of a pass and its place in the stream, so that a run can stop and go on to the same bits.

`checkpoint` is the face (save, load, resume, the lock), `packing` turns a state into JSON and arrays, `soundness` holds
a stored state against what a pass can have, `tensors` is the file.
"""
