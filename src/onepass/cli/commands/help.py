"""`onepass help TOPIC`: what does not fit into the help of one command."""

from __future__ import annotations

import click

from onepass.cli import terminal

TOPICS = {
    "formats": """\
Formats, told apart by their first bytes, then by their names; --format overrides.

  svmlight, LIBSVM   label index:value …       indices from 1 and rising; --zero-based, --unsorted, --duplicates
  Vowpal Wabbit      label |ns word word:2 …   names are hashed into 2^BITS places (--bits)
  CSV, TSV           --target names the label's column, by name or number; --categorical hashes a column
  JSONL              one object a line; with --text-column, words of one field
  Parquet, Arrow     columns as in CSV
  npy, npz           a matrix X, with labels y in npz; CSR as SciPy saves it

Plain, gz, zst, bz2 or xz, one file or many, a folder, a glob, @list.txt, or - for stdin.
--text-column COLUMN takes the words of a text: hashed, each with the value log2(1 + count).
`onepass check FILE` reads a file from end to end and tells what is there.""",
    "certificates": """\
A certificate says: the risk of this model is at most so much, and this sentence fails at most with probability δ
(--delta). No row is held out for it: each row was predicted before it was learned from.

  it covers "model"      the model itself: penalised, validation, longest, last in any loss, the others in hinge loss
  it covers "members"    the hypotheses that were averaged (cutoff, average, suffix), drawn at random: in 0-1 loss,
                         which is not convex
  --bound betting        tight, valid at all times at once (default);  --bound dekel2008: the paper's closed form
  --loss hinge           needs --learner margin and --radius;  --loss zero_one: the share of mistakes

It assumes that the rows are independent draws from one distribution, in the order in which they are read, and that
each was read once. Where that is plainly false (labels in order, data fed twice, a file that changed) the certificate
is withheld, with the reason. Shuffle sorted files first; the header of a CSV file stays where it is:

  shuf data.svm > shuffled.svm
  (head -n 1 data.csv; tail -n +2 data.csv | shuf) > shuffled.csv

--stop-at R stops reading as soon as the certified risk is at most R; --require-risk R makes the exit code 5 if it is
not.""",
    "config": """\
Options may stand in a TOML file, one table per command:

  [train]
  learner = "pa"
  delta = 0.01

  onepass --config run.toml train data.svm
  ONEPASS_TRAIN_DELTA=0.02 onepass train data.svm         every option has such a variable
  onepass train data.svm --print-config > run.toml        what is in effect, wherever it comes from

The command line wins over the environment, and that over the file. ONEPASS_CONFIG names the file.""",
    "exit-codes": """\
  0    done
  1    an error inside onepass, or nothing of the following; also where another run has written the output meanwhile
  2    wrong usage: an option, or a model, a config file or a folder that is not there
  3    bad data: file, line, column and remedy are named; or a data file that is not there
  4    a model file that is damaged or not one
  5    --require-risk is not met
  130  interrupted by Ctrl-C; 143 by SIGTERM""",
    "json": """\
--json prints one object on stdout, --jsonl one object a line: progress events while it runs, the result last. Each has
"schema" (now 1), which changes when a name changes its meaning; new names may come at any time. predict needs an
--output FILE then: its labels go to stdout otherwise.

  {"schema": 1, "event": "progress", "seconds": …, "rows": …, "rounds": …, "mistakes": …, "bytes": …, "risk": …}
  {"schema": 1, "event": "result", "command": "train", "rows": …, "certificate": {"risk": …, "delta": …, …}, …}

Certificates have: risk, delta, covers, conversion, k, bound, loss, rounds, assumptions, withheld, repeated.
k is the cutoff (cutoff), the first round (suffix), the number of the hypothesis (last, longest), or the logarithm to
base 2 of the round at which the candidate was frozen (penalised, validation: 14 is round 16,384); null for average.
Under "details" stands all that `onepass report` shows: history, cutoffs, survival, conversions, weights, versions.""",
    "completion": """\
Completion of commands, options, learners and files:

  bash    eval "$(_ONEPASS_COMPLETE=bash_source onepass)"      in ~/.bashrc
  zsh     eval "$(_ONEPASS_COMPLETE=zsh_source onepass)"       in ~/.zshrc
  fish    _ONEPASS_COMPLETE=fish_source onepass | source       in ~/.config/fish/completions/onepass.fish""",
}


@click.command("help")
@click.argument("topic", required=False, type=click.Choice([*TOPICS]))
def command(topic: str | None) -> None:
    """Explain formats, certificates, config, exit-codes, json or completion.

    \b
    Examples:
      onepass help formats
      onepass help certificates
    """
    if topic is None:
        terminal.echo("Topics: " + ", ".join(TOPICS) + ".  onepass help TOPIC;  onepass COMMAND --help")
    else:
        terminal.echo(TOPICS[topic])
