"""`elasticgnn`: collects the commands, and turns bad input into one line and exit code 2."""

import os
import sys
from importlib import import_module
from typing import Annotated

from elasticgnn.extras import MissingExtraError, optional_imports
from elasticgnn.versions import package_version

with optional_imports():
    import typer

from elasticgnn.cli.say import say
from elasticgnn.cli.streams import prepare_streams
from elasticgnn.cli.unexpected import report_unexpected, was_interrupted
from elasticgnn.files import one_line

COMMANDS = (
    "demo",
    "train",
    "partition",
    "predict",
    "explain",
    "data",
    "denoise",
    "study",
    "report",
    "attack",
    "robustness",
    "certify",
    "inspect",
    "export",
    "doctor",
)

ABOUT = """Learning on graphs whose edges cannot all be trusted.

Start with `elasticgnn demo`, which needs no data, or with own tables: `elasticgnn train --edges
edges.csv --labels labels.csv -o model.safetensors`, then `predict`, `inspect` and `report`.
Every command has an example in its --help, and --json for programs. Exit code 2: bad input.
"""

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def show_version(wanted: bool) -> None:
    """Prints the version and leaves, if it was asked for."""
    if wanted:
        say(package_version("elasticgnn"))
        raise typer.Exit


def build_app() -> typer.Typer:
    """The whole command tree; each module adds its command through `register`."""
    app = typer.Typer(
        name="elasticgnn",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback(help=ABOUT)(options)
    for name in COMMANDS:
        import_module(f"elasticgnn.cli.{name}").register(app)
    return app


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="the version")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="show the traceback of any error")] = False,
) -> None:
    """What may stand before a command."""
    # `main` takes --debug out of the arguments, wherever it stands; here it gets its help text


def main(arguments: list[str] | None = None) -> None:
    """Run the tool: input errors leave with code 2 and one line, Ctrl-C with 130, defects with 70.

    `--debug` anywhere, or ELASTICGNN_DEBUG in the environment, shows the traceback instead.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    debug = "--debug" in words or bool(os.environ.get("ELASTICGNN_DEBUG"))
    prepare_streams()
    try:
        build_app()(args=[word for word in words if word != "--debug"])
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # typer turns Ctrl-C into this, without a word
            say("interrupted", file=sys.stderr)
        raise
    except KeyboardInterrupt:
        say("interrupted", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        if was_interrupted(error):
            say("interrupted", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None
        if not isinstance(error, ValueError | OSError | MissingExtraError):
            raise SystemExit(report_unexpected(error, words)) from None
        say(f"error: {one_line(str(error))}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
