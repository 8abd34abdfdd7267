"""Options as typed values: a dataclass whose fields say how each is given on the command line.

    @dataclass(frozen=True)
    class Reading:
        bits: int | None = option(type=click.IntRange(1, 30), help="Hash features into 2^BITS places.")     # --bits

    @click.command(cls=Sectioned)
    @options_of(Reading, "Reading")        # a heading of the help
    def command(reading: Reading) -> None: ...

What else is to be known of an option (does a model remember it?) stands in the same field, as metadata.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from typing import Any, TypeVar

import click

Kind = TypeVar("Kind")
Arguments = dict[str, Any]  # of a call of the library, by name
Command = Callable[..., Any]


def option(*names: str, about: dict[str, Any] | None = None, **how: Any) -> Any:
    """A field that is an option of these names, or of its own; `how` is for click, `about` becomes metadata.

    A default is shown in the help, unless `how` says otherwise.
    """
    empty: Any = () if how.get("multiple") else False if how.get("is_flag") else None
    default = how.get("default", empty)
    how.setdefault("show_default", how.get("default") is not None)
    if isinstance(default, str) and isinstance(how.get("type"), click.ParamType):
        default = how["type"].convert(default, None, None)
    return field(default=default, metadata={**(about or {}), "option": (names, how)})


def options_of(
    kind: type[Kind], section: str = "Options", make: Callable[..., Any] | None = None, only: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """The command with an option for each field of the dataclass; it gets them as one argument, named as the class.

    The help of a `Sectioned` command shows them under the heading `section`, or a field's own. `make` is called in
    place of the class; `only` these fields are options, in this order, if any are named.
    """
    declared = {one.name: one.metadata["option"] for one in fields(kind) if "option" in one.metadata}  # type: ignore[arg-type]
    sections = {one.name: one.metadata["section"] for one in fields(kind) if "section" in one.metadata}  # type: ignore[arg-type]
    argument = re.sub(r"\B(?=[A-Z])", "_", kind.__name__).lower()
    names = [*(only or declared)]

    def decorate(function: Command) -> Command:
        @click.pass_context
        def command(context: click.Context, /, **given: Any) -> Any:
            own = (make or kind)(**{name: given.pop(name) for name in names})
            return context.invoke(function, **{argument: own}, **given)

        wrapped: Any = command
        wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
        wrapped.__click_params__ = list(getattr(function, "__click_params__", []))
        for name in reversed(names):
            words, how = declared[name]
            wrapped = click.option(*(words or [f"--{name.replace('_', '-')}"]), name, **how)(wrapped)
            wrapped.__click_params__[-1].section = sections.get(name, section)
        return wrapped  # type: ignore[no-any-return]

    return decorate


class Sectioned(click.Command):
    """A command whose many options are shown in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


class _Converted(click.ParamType):  # type: ignore[type-arg]
    """A value that is written in a way of its own."""

    wanted: str

    def parse(self, text: str) -> float | int | str:
        """The value; ValueError for what is none."""
        raise NotImplementedError

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parse(str(value))
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is {self.wanted}", param, ctx)


class Named(click.Choice):  # type: ignore[type-arg]
    """One of some names; of a wrong one it is said which may have been meant."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        near = difflib.get_close_matches(str(value), [str(name) for name in self.choices], n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"{value!r} is not one of {', '.join(map(str, self.choices))}.{hint}"


class NumberOr(_Converted):
    """A number, or one of some words."""

    def __init__(self, *words: str, number: str = "number") -> None:
        self.words, self.name = words, "|".join((number, *words))
        self.wanted = f"neither a number nor {'one of ' * (len(words) > 1)}{', '.join(words)}"

    def parse(self, text: str) -> float | str:
        return text if text in self.words else float(text)


class Size(_Converted):
    """Bytes, with units: 500MB, 4GB."""

    name = "SIZE"
    wanted = "not a size such as 500MB"

    def parse(self, text: str) -> int:
        number = text.upper().rstrip("KMGB")
        units = {"KB": 10, "MB": 20, "GB": 30, "K": 10, "M": 20, "G": 30, "B": 0, "": 0}
        unit = text.upper()[len(number) :]
        if unit not in units or (size := int(float(number) * (1 << units[unit]))) < 0:
            raise ValueError
        return size


class Duration(_Converted):
    """Seconds, with units: 10s, 500ms, 5m, 1h."""

    name = "TIME"
    wanted = "not a time such as 10s or 5m"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return float(value) if isinstance(value, float | int) else super().convert(value, param, ctx)

    def parse(self, text: str) -> float:
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(ms|s|m|min|h|)", text.strip().lower())
        if found is None:
            raise ValueError
        return float(found[1]) * {"ms": 0.001, "s": 1, "": 1, "m": 60, "min": 60, "h": 3600}[found[2]]
