"""`onepass inspect`: what a model file says of itself."""

from __future__ import annotations

import json
from typing import Any

import click

from onepass.cli import terminal


@click.command("inspect")
@click.argument("model", type=click.Path())
@terminal.options
def command(model: str, messages: terminal.Messages) -> None:
    """Show learner, options, data and certificate of a model file. Nothing in it is executed.

    \b
    Examples:
      onepass inspect model.safetensors
      onepass inspect model.safetensors --json | jq .about.certificate.risk
    """
    from onepass.model_files import read

    with terminal.opening(model):
        said, weights = read(model)
    used = int((weights != 0).any(axis=1).sum())
    facts: dict[str, Any] = {
        "features": len(weights) - 1,
        "non_zero": used,
        **{name: said[name] for name in ("format", "version", "classes", "bias", "radius", "sha256", "about")},
    }
    if messages.as_json:
        terminal.print_json({"command": "inspect", **facts})
        return
    about = facts.pop("about")
    lines = facts | {name: value for name, value in about.items() if name != "certificate"}
    for name, value in lines.items():
        terminal.echo(
            f"{name:12s} {terminal.name(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))}"
        )
    certificate = about.get("certificate")
    if isinstance(certificate, dict):
        terminal.echo("certificate")
        for name, value in certificate.items():
            terminal.echo(f"  {name:12s} {terminal.name(json.dumps(value, ensure_ascii=False))}")
