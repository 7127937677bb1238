"""The list of caches, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rosenblatt.formats.byte_sources import cache_folder
from rosenblatt.scale.cache_files import CacheFile


def listing(files: Sequence[CacheFile], removed: bool) -> str:
    """One line per cache, and the total size."""
    if not files:
        return f"no caches in {cache_folder()}"
    width = max(len(one.path.name) for one in files)
    lines = [f"{cache_folder()}:"]
    for one in files:
        line = f"  {one.path.name:<{width}}  {_size(one.bytes):>8}  {one.state}"
        lines.append(f"{line}: {one.sources[0]}{', …' if len(one.sources) > 1 else ''}" if one.sources else line)
    count = f"{len(files):,} {'cache' if len(files) == 1 else 'caches'}"
    total = _size(sum(one.bytes for one in files))
    return "\n".join([*lines, f"removed {count}, {total}" if removed else f"{count}, {total}"])


def caches_as_dict(files: Sequence[CacheFile]) -> dict[str, Any]:
    """The same for JSON."""
    each = [{"name": one.path.name, "bytes": one.bytes, "sources": one.sources, "state": one.state} for one in files]
    return {"folder": str(cache_folder()), "caches": each}


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
