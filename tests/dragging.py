"""What the browser tells the lab when a point is dragged."""


def moved(session, row, x, y):
    data = {name: list(values) for name, values in session.source.data.items()}
    data["x"][row], data["y"][row] = x, y
    return data
