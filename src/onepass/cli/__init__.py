"""The command-line program: a table of commands, each in a file of its own, imported only when it is called."""

from __future__ import annotations

import difflib
import importlib
import sys

import click

COMMANDS: dict[str, str] = {  # name → one line of help; the command lives in onepass.cli.<name>
    "cluster": "Cluster the points of a file by k-means.",
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


def main() -> None:
    """Entry point: errors that onepass raises on purpose become one line and an exit code, never a traceback."""
    from onepass.cli.terminal import exit_code
    from onepass.errors import OnepassError

    try:
        program.main(standalone_mode=True)
    except OnepassError as error:
        click.echo(f"onepass: {error}", err=True)
        sys.exit(exit_code(error))
