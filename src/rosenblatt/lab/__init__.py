"""The lab: a page in the browser that shows perceptrons as they learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def serve(data: Any = None, *, port: int = 0, open_browser: bool = True, block: bool = True) -> Any:
    """Open the lab in a browser; the server accepts connections from this machine only.

    Parameters
    ----------
    data : str or Path, optional
        A CSV file to show: a header, rows of numbers, and labels in the last column. Or a state with the suffix
        ".json", as the page Share and the figures of the book save it.
    port : int, default=0
        The port to listen on; 0 picks a free one.
    open_browser : bool, default=True
    block : bool, default=True
        Serve until interrupted; if False, serve in a thread and return at once.

    Returns
    -------
    RunningLab
        Has `address` (which includes the token that every visitor needs), `port` and `stop()`.

    Raises
    ------
    ValueError
        If the file is not a table that can be drawn, or not a state; the message says why.

    Examples
    --------
    >>> from rosenblatt import lab
    >>> lab.serve("customers.csv")  # doctest: +SKIP
    """
    try:
        import bokeh  # noqa: F401
        import panel as pn
    except ImportError as error:
        raise ImportError('The lab needs Panel and Bokeh: pip install "rosenblatt[lab]"') from error
    from rosenblatt.lab.app import Lab, configure_panel, new_page
    from rosenblatt.lab.points import parse_csv
    from rosenblatt.lab.server import start
    from rosenblatt.lab.sharing import Snapshot

    configure_panel()
    shown: str | Snapshot | None = None
    if data is not None:  # a bad file fails here, before a browser opens
        text = _text(Path(data))
        if Path(data).suffix == ".json":
            shown = Snapshot.from_json(text)
            Lab().restore(shown)
        else:
            shown = text
            parse_csv(text)
    return start(pn, lambda: new_page(shown), port=port, open_browser=open_browser, block=block)


def _text(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is not UTF-8 text: save it as CSV (UTF-8) and try again.") from None
