"""Open the lab: python -m rosenblatt.show.lab [data.csv] [--port N] [--no-browser]."""

from __future__ import annotations

import argparse
import sys

from rosenblatt.show.lab import serve


def main(arguments: list[str] | None = None) -> int:
    """Serve the lab until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m rosenblatt.show.lab", description="Open the lab in a browser.")
    parser.add_argument("data", nargs="?", help="a CSV: names, rows of numbers, labels in the last column")
    parser.add_argument("--port", type=int, default=0, help="where to listen (default: a free port)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    asked = parser.parse_args(arguments)
    try:
        serve(asked.data, port=asked.port, open_browser=not asked.no_browser)
    except (ImportError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
