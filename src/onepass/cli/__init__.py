"""The command-line program: a table of commands, each in a file of its own, imported only when it is called."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence

import click

# name → one line of help; the command lives in onepass.cli.<name>
COMMANDS = {
    "train": "Learn from files in one pass; print the certificate, write the model.",
    "predict": "Predict the labels of new rows with a saved model.",
    "compare": "Show every conversion of one pass side by side.",
    "check": "Read files from end to end and tell what is there.",
    "inspect": "Show what a model file says of itself.",
    "newswire": "Write drawn newswire documents to a file, to try things on.",
    "warmup": "Compile every kernel now.",
    "demo": "Train on 100,000 drawn documents; see certified and true risk side by side.",
    "experts": "Combine expert advice, and show the regret beside its bound.",
    "lab": "On-line learning of dichotomies, simulated beside its theory.",
    "cluster": "Cluster the points of a file by k-means.",
    "report": "Make one HTML page from a run or a model.",
}


class Program(click.Group):
    """A group that imports a command's module only when the command is used, so that --help stays instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"onepass.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " See onepass --help."
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if COMMANDS:
            with formatter.section("Commands"):
                formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="onepass", message="%(prog)s %(version)s")
def program() -> None:
    """One pass over the data, one model, one certificate."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: errors that onepass raises on purpose become one line and an exit code, never a traceback."""
    from onepass.cli.terminal import exit_code
    from onepass.errors import OnepassError

    try:
        typed = list(sys.argv[1:] if arguments is None else arguments)
        status = program.main(arguments, prog_name="onepass", standalone_mode=False, obj=typed)
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except OnepassError as error:
        click.echo(f"onepass: {error}", err=True)
        status = exit_code(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("onepass: interrupted", err=True)
        status = 130
    sys.exit(status if isinstance(status, int) else 0)
