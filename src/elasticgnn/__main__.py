"""`elasticgnn` and `python -m elasticgnn`: the commands, or a word on what they need."""

import sys

from elasticgnn.extras import MissingExtraError


def main() -> None:
    """Run the command line; without the extra `cli` one line says how to install it."""
    try:
        from elasticgnn.cli.__main__ import main as run
    except MissingExtraError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:  # later ones are the commands' own
        sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
