"""What users rely on, as one record: python tests/public_face.py > tests/public_face.json stores a decided change."""

import inspect
import json

import typer

import rosenblatt
from rosenblatt import plot, records
from rosenblatt.cli import main
from rosenblatt.model_files import save_and_load

METHODS = ("fit", "partial_fit", "predict", "predict_proba", "decision_function", "score", "transform")


def _signature(function):
    """Names, kinds and defaults of the parameters, without their types."""
    parameters = inspect.signature(function).parameters.values()
    return [str(one.replace(annotation=inspect.Parameter.empty)) for one in parameters]


def _described(value):
    if inspect.isclass(value):
        methods = {name: _signature(getattr(value, name)) for name in METHODS if callable(getattr(value, name, None))}
        failure = issubclass(value, Exception)
        return {"parameters": [] if failure else _signature(value), **methods}
    return {"parameters": _signature(value)} if callable(value) else {}


def _names(module):
    return {name: _described(getattr(module, name)) for name in sorted(module.__all__) if name != "__version__"}


def _commands():
    group = typer.main.get_command(main.app)
    return {
        name: sorted(option for one in command.params for option in (*one.opts, *one.secondary_opts))
        for name, command in sorted(group.commands.items())
    }


def public_face():
    return {
        "names": _names(rosenblatt),
        "plot": sorted(plot.__all__),
        "records": sorted(records.__all__),
        "commands": _commands(),
        "exit codes": {name: getattr(main, name) for name in ("BAD_INPUT", "UNDECIDED", "OUTPUT_CLOSED")},
        "model files": {"format": save_and_load.FORMAT},
    }


if __name__ == "__main__":
    print(json.dumps(public_face(), indent=1, ensure_ascii=False))
