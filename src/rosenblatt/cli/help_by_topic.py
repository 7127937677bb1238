"""Commands whose --help shows the essential options on one screen, and --help-all the others, by topic."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

TOPICS = {
    "How it learns": ("seconds", "order", "seed", "template"),
    "Output": ("as_json", "force"),
    "How the file is read": ("format", "header", "delimiter", "encoding", "features", "zero_based", "ngrams"),
    "Large files, and many machines": (
        *("memory", "cache_dir", "shards", "jobs", "mixing", "checkpoint", "resume"),
        *("workers", "cluster", "deadline", "tls_ca", "tls_cert", "tls_key"),
    ),
}


class CommandByTopic(TyperCommand):
    """Hides the options of these topics from --help, and puts each in the panel of its topic."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        topics = {name: topic for topic, names in TOPICS.items() for name in names}
        for option in self.params:
            if option.name in topics:
                vars(option).update(hidden=True, rich_help_panel=topics[option.name])


def _show_all(context: typer.Context, asked: bool) -> None:
    if not asked:
        return
    hidden = [option for option in context.command.params if vars(option).get("hidden")]
    for option in hidden:
        vars(option)["hidden"] = False
    print(context.get_help())
    for option in hidden:
        vars(option)["hidden"] = True
    raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", is_eager=True, callback=_show_all, help="Show all options, by topic, and exit."),
]
