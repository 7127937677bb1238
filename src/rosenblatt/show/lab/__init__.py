"""The lab: a page where perceptrons learn before one's eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def serve(data: Any = None, *, port: int = 0, open_browser: bool = True, block: bool = True) -> Any:
    """Open the lab in a browser, served from this machine to this machine only.

    Parameters
    ----------
    data : str or Path, optional
        A CSV to show: a line of names, rows of numbers, the labels in the last column.
    port : int, default=0
        Where to listen; 0 takes one that is free.
    open_browser : bool, default=True
    block : bool, default=True
        Serve until interrupted; otherwise return at once.

    Returns
    -------
    The running server, when not blocking: it has `address` (with the token that every visitor needs), `port` and
    `stop()`.

    Raises
    ------
    ValueError
        Where the file is no table that can be drawn, in a sentence that says why.

    Examples
    --------
    >>> from rosenblatt.show import lab
    >>> lab.serve("customers.csv")  # doctest: +SKIP
    """
    try:
        import bokeh  # noqa: F401
        import panel as pn
    except ImportError as error:
        raise ImportError('The lab needs Panel and Bokeh: pip install "rosenblatt[lab]"') from error
    from rosenblatt.show.lab.app import build, prepare
    from rosenblatt.show.lab.points import read_table
    from rosenblatt.show.lab.server import start

    text = None if data is None else _text(Path(data))
    if text is not None:
        read_table(text)  # a sentence here, before a browser opens

    prepare()
    return start(pn, lambda: build(text), port=port, open_browser=open_browser, block=block)


def _text(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is no text in UTF-8: save it as CSV (UTF-8) and try again.") from None
