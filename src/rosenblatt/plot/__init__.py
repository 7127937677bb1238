"""Pictures of models, traces, reports and proofs, with matplotlib (extra "plot").

Each function draws one kind of picture and returns its display, which holds the data it shows, the axes `ax_` and the
`figure_`, and can be drawn again: `display.plot(ax=…)`. The stub next to this file lists them; like the names of
`rosenblatt`, they are imported when they are first used.

Examples
--------
>>> from rosenblatt import plot
>>> display = plot.losses(["hinge", "log"])
>>> display
<LossesDisplay>
>>> display.ax_.get_ylabel()
'loss'
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
