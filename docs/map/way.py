"""Draw the way of the data, from what comes in to what you get: python docs/map/way.py writes docs/map/way.svg."""

from pathlib import Path

COLUMNS = {  # a heading, and the boxes under it: what it is, and where it is done
    "what comes in": [
        ("arrays, frames", "shell/encoding.py"),
        ("tables", "tables/columns/"),
        ("files of any size", "formats/, scale/"),
        ("sentences", "sequence/sentences.py"),
    ],
    "encoded once": [
        ("Examples", "learn/examples.py: rows, targets"),
        ("a Source", "learn/epochs.py: parts of an epoch"),
    ],
    "the training loop": [
        ("Training", "learn/epochs.py: epochs, when to stop"),
        ("a Solver", "what an epoch does to the state"),
        ("a sweep", "learn/sweep.py: one compiled pass"),
    ],
    "what you get": [
        ("a model", "coef_, predict, partial_fit"),
        ("a report", "how it ended, margin, bound"),
        ("a proof", "prove/: it verifies itself"),
        ("a file", "model_files/: safe to load, ONNX"),
        ("a picture, a trace", "plot/, tracing/, lab/"),
    ],
}
WIDTH, HEIGHT, GAP, TOP, STEP = 226, 54, 36, 62, 68


def box(x: float, y: float, title: str, words: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" class="box"/>'
        f'<text x="{x + 12}" y="{y + 22}" class="title">{title}</text><text x="{x + 12}" y="{y + 42}">{words}</text>'
    )


def draw() -> str:
    most = max(map(len, COLUMNS.values()))
    height, width = TOP + most * STEP + 10, len(COLUMNS) * (WIDTH + GAP) - GAP + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<title>The way of the data</title>",
        "<style>text { font: 12px sans-serif; fill: #333 } .title { font-weight: bold; font-size: 14px }"
        " .box { fill: #fff; stroke: #117a8b; stroke-width: 1.5 }"
        " .head { font-weight: bold; font-size: 15px; fill: #117a8b }</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#666"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    middle = TOP + most * STEP / 2 - (STEP - HEIGHT) / 2
    for number, (heading, boxes) in enumerate(COLUMNS.items()):
        x = 10 + number * (WIDTH + GAP)
        parts.append(f'<text x="{x}" y="30" class="head">{heading}</text>')
        start = TOP + (most - len(boxes)) * STEP / 2
        parts += [box(x, start + at * STEP, *words) for at, words in enumerate(boxes)]
        if number:
            line = f'x1="{x - GAP + 4}" y1="{middle}" x2="{x - 4}" y2="{middle}"'
            parts.append(f'<line {line} stroke="#666" stroke-width="2.5" marker-end="url(#tip)"/>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_name("way.svg").write_text(draw(), encoding="utf-8")
