"""A film filter: it learns what one viewer likes, film by film, and sees no film twice.

Each evening the filter guesses whether the film will please, hears the answer, and corrects itself if it was wrong.
That is online learning. When the taste changes, the filter follows.
"""

import numpy as np

from rosenblatt import Perceptron

FEATURES = ["comedy", "thriller", "science fiction", "romance", "documentary", "long", "black and white", "subtitles"]
TASTES = [2, -1, 3, -2, 1, -2, 1, 0.5], [2, 3, -1, -2, 2, -1, 1, 0.5]  # thrillers come in, science fiction goes out
EVENINGS = 150


def main():
    rng = np.random.default_rng(4)
    films = (rng.random((2, EVENINGS, len(FEATURES))) < 0.35).astype(float)
    model, believed, liked = Perceptron(), [], 0
    wrong: list[bool] = []
    for taste, year in zip(TASTES, films, strict=True):
        for film in year:
            answer = "yes" if film @ taste > 0.6 else "no"
            liked += answer == "yes"
            wrong.append(bool(wrong) and model.predict([film])[0] != answer)
            model.partial_fit([film], [answer], classes=["no", "yes"])
        believed.append(model.coef_[0])

    print("evenings     wrong guesses")
    for begin in range(0, len(wrong), 30):
        count = sum(wrong[begin : begin + 30])
        note = "   the taste has changed" if begin == EVENINGS else ""
        print(f"{begin + 1:3} to {begin + 30:3}   {'#' * count} {count}{note}")
    print("\nwhat the filter believes   first year   second year")
    for name, before, after in zip(FEATURES, *believed, strict=True):
        print(f"  {name:22} {before:+9.0f} {after:+13.0f}")
    idle = min(liked, len(wrong) - liked)
    print(f"\n{sum(wrong)} wrong guesses in {len(wrong)} evenings; without learning, by the commoner answer, {idle}")


if __name__ == "__main__":
    main()
