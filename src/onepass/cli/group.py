"""A table of commands, each in a file of its own, imported only when it is called; and what their errors become."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from contextlib import suppress

import click

from onepass.cli import terminal
from onepass.cli.spelling import words
from onepass.errors import OnepassError

# name → one line of help; the command lives in onepass.cli.commands.<name>
COMMANDS = {
    "train": "Learn from files in one pass; print the certificate, write the model.",
    "predict": "Predict the labels of new rows with a saved model.",
    "monitor": "Watch a model in use: does its certificate still hold? Exit code 6 if not.",
    "compare": "Show learners, conversions and encodings side by side.",
    "check": "Read files from end to end and tell what is there.",
    "inspect": "Show what a model file says of itself.",
    "verify": "Check a model file, and that it comes from this data.",
    "plan": "Say before any row is read how many rows a certificate will need.",
    "newswire": "Write drawn newswire documents to a file, to try things on.",
    "warmup": "Compile every kernel now.",
    "demo": "Train on 100,000 drawn documents; see certified and true risk side by side.",
    "experts": "Combine expert advice, and show the regret beside its bound.",
    "lab": "On-line learning of dichotomies, simulated beside its theory.",
    "reproduce": "Repeat the experiments of the cutoff-averaging paper: curves, certificates, tables.",
    "cluster": "Cluster the points of a file by k-means.",
    "report": "Make one HTML page from a run or a model.",
    "help": "Explain formats, certificates, config files, exit codes, JSON, completion.",
}


class Program(click.Group):
    """A group that imports a command's module only when the command is used, so that --help stays instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"onepass.cli.commands.{name}").command
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


def _versions(verbose: bool) -> str:
    """The version; verbose, also all that a bug report needs; looked up, not imported."""
    from importlib import metadata

    lines = [f"onepass {metadata.version('onepass')}"]
    if verbose:
        import platform

        lines.append(f"python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} cores")
        for name in PARTS:
            try:
                lines.append(f"{name} {metadata.version(name)}")
            except metadata.PackageNotFoundError:
                lines.append(f"{name} is not installed")
    return "\n".join(lines)


PARTS = (
    *("numpy", "numba", "llvmlite", "scipy", "scikit-learn", "pyarrow", "safetensors", "isal"),
    *("click", "rich", "matplotlib", "dask"),
)


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "auto_envvar_prefix": "ONEPASS",
    },
)
@click.option("--version", is_flag=True, help="Show the version.")
@click.option("--verbose", is_flag=True, help="With --version: the versions of all parts.")
@click.option("--config", metavar="FILE", help="Take options from this TOML file (onepass help config).")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours in the output.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error inside onepass.")
@click.pass_context
def program(context: click.Context, version: bool, verbose: bool, config: str | None, color: str) -> None:
    """One pass over the data, one model, one certificate."""
    if version or context.invoked_subcommand is None:
        terminal.echo(_versions(verbose) if version else context.get_help())
        context.exit()
    if color != "auto":  # as rich understands it
        os.environ.pop("FORCE_COLOR" if color == "never" else "NO_COLOR", None)
        os.environ["NO_COLOR" if color == "never" else "FORCE_COLOR"] = "1"
    if config is not None:
        from onepass.cli import config as settings

        context.default_map = settings.read(config, tuple(COMMANDS), lambda name: program.get_command(context, name))


def run(arguments: list[str]) -> int:
    """The exit code; an error becomes one line, and --debug, wherever it stands, shows the traceback."""
    debug = "--debug" in arguments
    try:
        asked = [word for word in arguments if word != "--debug"]
        status = program.main(asked, prog_name="onepass", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where what the system refuses is told; at exit it would be a traceback
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        terminal.show(error)
        return error.exit_code
    except Exception as error:
        if debug:
            raise
        return _told(error)
    return status if isinstance(status, int) else 0


def _told(error: Exception) -> int:
    """Say in a line what went wrong; the exit code."""
    if isinstance(error, OnepassError):
        terminal.echo(f"onepass: {words(error)}", err=True)
        return terminal.exit_code(error)
    if isinstance(error, OSError):  # what the system refuses is no fault of ours: a full disk behind stdout
        place = "the output" if error.filename is None else terminal.name(os.fsdecode(error.filename))
        terminal.echo(f"onepass: {place}: {error.strerror or error}", err=True)
        if error.filename is None:
            _give_up_stdout()
        return 1
    terminal.echo(f"onepass: an error inside onepass: {type(error).__name__}: {error}", err=True)
    terminal.echo("The same command with --debug shows where; `onepass --version --verbose` belongs to it.", err=True)
    return 1


def _give_up_stdout() -> None:
    """What is still to be written goes nowhere, or Python would try once more at its end, and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
