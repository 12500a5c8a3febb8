"""`elasticgnn`: collects the commands, and turns bad input into one line and exit code 2."""

import os
import sys
from importlib import import_module

import typer

COMMANDS = (
    "demo",
    "train",
    "predict",
    "data",
    "denoise",
    "study",
    "report",
    "attack",
    "robustness",
    "inspect",
    "doctor",
)


def build_app() -> typer.Typer:
    """The whole command tree; each module adds its command through `register`."""
    app = typer.Typer(
        name="elasticgnn",
        help="Learning on graphs whose edges cannot all be trusted.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for name in COMMANDS:
        import_module(f"elasticgnn.cli.{name}").register(app)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run the tool: input errors leave with code 2 and one line, Ctrl-C with 130."""
    try:
        build_app()(args=arguments)
    except (ValueError, OSError) as error:
        if os.environ.get("ELASTICGNN_DEBUG"):
            raise
        message = " ".join(str(error).split())
        print(f"error: {message}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
