"""rosenblatt: perceptron learning made fast, proven and visible.

The stub next to this file lists the public names, each with its module. A name is imported when it is first used, so
that `import rosenblatt` loads neither scikit-learn nor numba.
"""

import lazy_loader

from rosenblatt._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
