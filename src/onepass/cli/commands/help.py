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

  it covers "model"      the model itself: frozen (the default), validation, longest, last in any loss, the others in
                         hinge loss
  it covers "members"    the hypotheses that were averaged (cutoff, average, suffix), drawn at random: in 0-1 loss,
                         which is not convex
  --bound betting        tight, valid at all times at once (default);  --bound dekel2008: the paper's closed form, not
                         for frozen models
  --loss hinge           needs --learner margin and --radius;  --loss zero_one: the share of mistakes

frozen: models are frozen on the way (at rows 8, 10, 12, 14, 16, 20, …), the newest of them are watched on every later
row, and the one with the smallest certificate is written, exactly as it was watched.

Of a frozen model more is certified than one number, below its sentence: for two classes how many of the positive class
are missed, how many false alarms there are, and the precision of each class; for several, how many of each class are
missed. All these hold together with probability 1 − δ, beside the risk, which has a δ of its own.

  --positive LABEL       which class is meant (default: the second in sorted order)
  --max-false-alarm A    cut the scores so that at most this share of the negative class is called positive; the model
                         keeps the threshold, and predict applies it. Or --max-miss A, --min-precision P
  --cost yes,no=5        certify the mean cost in place of the share of mistakes: what a yes taken for a no costs; may
                         be repeated, and must be said of every mistake that the classes allow
  --expected-rows N      about how many rows will come; it makes certificates a little smaller, and need not be true.
                         Where files tell it, nothing need be said
  predict --proba        how probable each class is, by what came of such scores on later rows

Targets and costs are declared before the first row: chosen after looking, they would have no guarantee.

It assumes that the rows are independent draws from one distribution, in the order in which they are read, and that
each was read once. Where that is plainly false (labels in order, rows that drift, data fed twice, a file that
changed) the certificate is withheld, with the reason; below that it says how strong the evidence against it is.
Shuffle sorted files first; the header of a CSV file stays where it is:

  shuf data.svm > shuffled.svm
  (head -n 1 data.csv; tail -n +2 data.csv | shuf) > shuffled.csv

Before any row is read, `onepass plan --radius 1 --best-loss 0.1 --target 0.2` says how many will be needed.

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
  4    a model file, or the state file of a monitor, that is damaged or not one
  5    --require-risk is not met
  6    an alarm of `onepass monitor`: what was certified is not true of the rows watched
  130  interrupted by Ctrl-C; 143 by SIGTERM""",
    "json": """\
--json prints one object on stdout, --jsonl one object a line: progress events while it runs, the result last. Each has
"schema" (now 2), which changes when a name changes its meaning; new names may come at any time. predict needs an
--output FILE then: its labels go to stdout otherwise.

  {"schema": 2, "event": "progress", "seconds": …, "rows": …, "rounds": …, "mistakes": …, "bytes": …, "risk": …}
  {"schema": 2, "event": "result", "command": "train", "rows": …, "certificate": {"risk": …, "delta": …, …}, …}

Certificates have: risk, delta, covers, conversion, choice, bound, loss, loss_bound, empirical, counted, rounds,
assumptions, withheld, repeated, drift, baseline, beats_baseline, rates, threshold, entries.
baseline is what always saying the most frequent label would do: label, error.
choice is {"value": …, "words": …}: the cutoff k (cutoff), the first round (suffix), the number of the hypothesis (last,
longest), the round at which the model was frozen (frozen) or the logarithm to base 2 of it (validation); null for
average. (Schema 1 had k in its place.)
rates has delta, covers, frozen, positive and rates, each with name, label, bound, at_most, observed, counted; null
where there is a threshold, or one hypothesis alone. Of members only the joint rates are known: the share of all rows
that are of a class and misjudged. drift has the evidence against independent draws (so many to one), the rows tested,
and where it grew; null where no model was watched. threshold has target, positive, negative, border,
reached, nearest, and what was seen.
Under "details" stands all that `onepass report` shows: history, cutoffs, survival, conversions, weights, baseline,
deployed (scores and reliability of the frozen model), versions.""",
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
