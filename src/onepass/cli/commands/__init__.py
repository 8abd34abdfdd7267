"""The commands, one file each, named in `onepass.cli.group`; what they share stands in `onepass.cli`."""
