"""A command called in this process, with its stdout and stderr kept apart: before click 8.2 one had to ask."""

import inspect

from click.testing import CliRunner, Result

APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def invoke(command, arguments, **options) -> Result:
    return CliRunner(**APART).invoke(command, [str(argument) for argument in arguments], **options)
