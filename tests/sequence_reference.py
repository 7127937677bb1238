"""The structured perceptron in plain Python, by the definitions: all paths, dictionaries, no shortcuts.

Numbers are rounded where the compiled loops round them: scores to float32 after each addition, steps in doubles.
"""

from itertools import pairwise, product

import numpy as np

from rosenblatt.learn.orders import Shuffled


def emissions(tokens, weights, tags):
    """The float32 sum of weights for each token and tag; tokens are lists of (feature, value)."""
    table = []
    for token in tokens:
        sums = [np.float32(0)] * len(tags)
        for feature, value in token:
            row = [weights.get((feature, tag), np.float32(0)) for tag in tags]
            sums = [total + np.float32(np.float32(value) * w) for total, w in zip(sums, row, strict=True)]
        table.append(sums)
    return table


def best_path(table, moves, tags, allowed=lambda before, tag: True):
    """The best of all paths; among equals the lowest tag at the last token, then at the one before, and so on.

    The numbers must be such that sums are exact.
    """
    best = None
    for path in product(range(len(tags)), repeat=len(table)):
        named = [tags[k] for k in path]
        if not all(allowed(a, b) for a, b in zip([None, *named], [*named, None], strict=True)):
            continue
        score = sum(moves.get((a, b), 0.0) for a, b in pairwise([None, *named]))
        key = (-score - sum(table[t][k] for t, k in enumerate(path)), path[::-1])
        if best is None or key < best[0]:
            best = (key, named)
    return best[1]


def viterbi(table, moves, tags):
    """The same, tag by tag, with every sum rounded to float32."""
    scores, back = None, []
    for row in table:
        best = []
        for tag in tags:
            if scores is None:
                best.append((moves.get((None, tag), np.float32(0)), -1))
                continue
            ways = [(score + moves.get((tags[j], tag), np.float32(0)), -j) for j, score in enumerate(scores)]
            best.append(max(ways))
        back.append([-j for _, j in best])
        scores = [score + emitted for (score, _), emitted in zip(best, row, strict=True)]
    path = [max(range(len(tags)), key=lambda k: (scores[k], -k))]
    for previous in back[:0:-1]:
        path.append(previous[path[-1]])
    return [tags[k] for k in path[::-1]]


def difference(tokens, gold, said, chained):
    """Φ(x, gold) − Φ(x, said), in the order in which entries first appear."""
    delta = {}
    before = (None, None)
    for token, right, wrong in zip(tokens, gold, said, strict=True):
        if right != wrong:
            for feature, value in token:
                for tag, sign in ((right, 1.0), (wrong, -1.0)):
                    delta[feature, tag] = delta.get((feature, tag), 0.0) + sign * float(np.float32(value))
        if chained and (right != wrong or before[0] != before[1]):
            for pair, sign in (((before[0], right), 1.0), ((before[1], wrong), -1.0)):
                delta["->", *pair] = delta.get(("->", *pair), 0.0) + sign
        before = (right, wrong)
    return delta


def learn(sentences, gold, tags, *, epochs, seed=0, order="shuffle", aggressive=False, C=1.0, chained=True):
    """Epochs of training: the last weights, their averages, and the updates and largest ‖ΔΦ‖²."""
    weights, sums, clock, updates, radius2 = {}, {}, 0, 0, 0.0
    for epoch in range(epochs):
        visits = range(len(sentences))
        if order == "shuffle":
            visits = Shuffled(len(sentences), seed).piece(epoch, 0, len(sentences)).tolist()
        before = updates
        for i in visits:
            emitted = {key: w for key, w in weights.items() if key[0] != "->"}
            moves = {key[1:]: w for key, w in weights.items() if key[0] == "->"}
            table = emissions(sentences[i], emitted, tags)
            if aggressive:
                for row, right in zip(table, gold[i], strict=True):
                    row[:] = [w + np.float32(tag != right) for w, tag in zip(row, tags, strict=True)]
            said = viterbi(table, moves, tags) if sentences[i] else []
            delta = difference(sentences[i], gold[i], said, chained)
            if said != gold[i]:
                wrong = sum(a != b for a, b in zip(said, gold[i], strict=True))
                against = norm2 = 0.0
                for key, x in delta.items():
                    against += x * float(weights.get(key, 0.0))
                    norm2 += x * x
                step = 1.0
                if aggressive:
                    loss = wrong - against
                    step = min(C, loss / norm2) if norm2 > 0 and loss > 0 else 0.0
                if step > 0:
                    for key, x in delta.items():
                        if step * x != 0.0:
                            weights[key] = np.float32(float(weights.get(key, 0.0)) + step * x)
                            sums[key] = sums.get(key, 0.0) + clock * (step * x)
                    updates, radius2 = updates + 1, max(radius2, norm2)
            clock += 1
        if updates == before:
            break
    averages = {key: np.float32(float(w) - sums[key] / clock) for key, w in weights.items()}
    return weights, averages, updates, radius2
