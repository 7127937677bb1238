/* Points that can be dragged, a learner that steps through them, and a verdict with its proof.

   <div class="playground" data-points="x,y,class ..."></div> becomes a figure. Nothing is loaded. Verdicts and
   perceptrons are computed in integers: a double is an integer over a power of two, so that a verdict is about exactly
   the numbers that are shown, and is the one that `separability` gives. */
"use strict";

(function () {

/* -- exact numbers ----------------------------------------------------------------------------------------------- */

const abs = (a) => (a < 0n ? -a : a);

function gcd(a, b) {
  a = abs(a); b = abs(b);
  while (b) [a, b] = [b, a % b];
  return a;
}

/* Fractions are pairs [n, d] in lowest terms, d > 0. */
function fraction(n, d = 1n) {
  if (d < 0n) { n = -n; d = -d; }
  const g = gcd(n, d) || 1n;
  return [n / g, d / g];
}
const plus = (a, b) => fraction(a[0] * b[1] + b[0] * a[1], a[1] * b[1]);
const times = (a, b) => fraction(a[0] * b[0], a[1] * b[1]);
const half = (a) => fraction(a[0], 2n * a[1]);
const asText = (a) => (a[1] === 1n ? `${a[0]}` : `${a[0]}/${a[1]}`);

/* n/d as the nearest double, also where n and d are far too large for one. */
function asDouble(n, d = 1n) {
  const extra = Math.max(abs(n).toString(2).length, d.toString(2).length) - 1000;
  if (extra <= 0) return Number(n) / Number(d);
  return Number(n >> BigInt(extra)) / Number(d >> BigInt(extra));
}

/* The smallest k ≥ 0 for which x·2^k is an integer. */
function binaryDigits(x) {
  let k = 0;
  while (!Number.isInteger(x)) { x *= 2; k += 1; }
  return k;
}

/* Points as integers over one power of two: {X, Y: BigInt[], D}. */
function integers(points) {
  const k = Math.max(0, ...points.map((p) => Math.max(binaryDigits(p.x), binaryDigits(p.y))));
  const D = 1n << BigInt(k);
  const whole = (x) => {
    const own = binaryDigits(x);
    return BigInt(x * 2 ** own) << BigInt(k - own);
  };
  return { X: points.map((p) => whole(p.x)), Y: points.map((p) => whole(p.y)), D };
}

/* -- convex hulls in integers; corners are {x, y, row} ------------------------------------------------------------ */

const cross = (o, a, b) => (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
const same = (a, b) => a.x === b.x && a.y === b.y;

/* The corners of the hull, counterclockwise; of equal points the first. */
function hull(corners) {
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const sorted = [...corners].sort((a, b) => order(a.x, b.x) || order(a.y, b.y) || a.row - b.row);
  const distinct = sorted.filter((p, i) => i === 0 || !same(p, sorted[i - 1]));
  if (distinct.length < 3) return distinct;
  const chain = (list) => {
    const kept = [];
    for (const p of list) {
      while (kept.length > 1 && cross(kept[kept.length - 2], kept[kept.length - 1], p) <= 0n) kept.pop();
      kept.push(p);
    }
    return kept.slice(0, -1);
  };
  return [...chain(distinct), ...chain(distinct.reverse())];
}

const edges = (h) => (h.length < 2 ? [] : h.length === 2 ? [[h[0], h[1]]] : h.map((p, i) => [p, h[(i + 1) % h.length]]));

/* Weights of p as a mean of corners of a hull, by the triangles that meet in corner k: [[row, fraction], ...], or null
   where p is outside. p is {x, y} in integers over `unit`. */
function meanOfCorners(p, h, k = 0, unit = 1n) {
  const large = h.map((q) => ({ x: q.x * unit, y: q.y * unit, row: q.row }));
  const turned = [...large.slice(k), ...large.slice(0, k)];
  const given = (parts) => parts.filter(([, w]) => w[0] > 0n);
  const [a] = turned;
  if (turned.length === 1) return same(p, a) ? [[a.row, fraction(1n)]] : null;
  if (turned.length === 2) {
    const b = turned[1];
    if (cross(a, b, p) !== 0n) return null;
    const along = (b.x - a.x) * (p.x - a.x) + (b.y - a.y) * (p.y - a.y);
    const whole = (b.x - a.x) ** 2n + (b.y - a.y) ** 2n;
    if (along < 0n || along > whole) return null;
    return given([[a.row, fraction(whole - along, whole)], [b.row, fraction(along, whole)]]);
  }
  for (let i = 1; i + 1 < turned.length; i += 1) {
    const b = turned[i], c = turned[i + 1];
    const parts = [cross(b, c, p), cross(c, a, p), cross(a, b, p)], area = cross(a, b, c);
    if (parts.every((part) => part >= 0n)) {
      return given([a, b, c].map((corner, j) => [corner.row, fraction(parts[j], area)]));
    }
  }
  return null;
}

/* Where two segments cross inside both, as weights of their four ends; null elsewhere. */
function crossing([p, q], [r, s]) {
  const atP = cross(r, s, p), atQ = cross(r, s, q), atR = cross(p, q, r), atS = cross(p, q, s);
  if (!(atP * atQ < 0n && atR * atS < 0n)) return null;
  return [
    [[p.row, fraction(atQ, atQ - atP)], [q.row, fraction(atP, atP - atQ)]],
    [[r.row, fraction(atS, atS - atR)], [s.row, fraction(atR, atR - atS)]],
  ];
}

/* Every corner of the intersection of two hulls: [weights in A, weights in B]. */
function* commonCorners(A, B) {
  for (const p of A) {
    const inB = meanOfCorners(p, B);
    if (inB) yield [[[p.row, fraction(1n)]], inB];
  }
  for (const p of B) {
    const inA = meanOfCorners(p, A);
    if (inA) yield [inA, [[p.row, fraction(1n)]]];
  }
  for (const e of edges(A)) for (const f of edges(B)) {
    const found = crossing(e, f);
    if (found) yield found;
  }
}

/* The closest points of two disjoint hulls: {a, b: {x, y as fractions}, rows}. */
function closest(A, B) {
  let best = null;
  const offer = (n, d, a, b, rows) => {
    if (best === null || n * best.d < best.n * d) best = { n, d, a, b, rows };
  };
  const whole = (p) => ({ x: fraction(p.x), y: fraction(p.y) });
  const square = (p, q) => (p.x - q.x) ** 2n + (p.y - q.y) ** 2n;
  for (const p of A) for (const q of B) offer(square(p, q), 1n, whole(p), whole(q), [p.row, q.row]);
  const toEdges = (points, segments, swap) => {
    for (const p of points) for (const [u, v] of segments) {
      const length = square(u, v), along = (p.x - u.x) * (v.x - u.x) + (p.y - u.y) * (v.y - u.y);
      if (along <= 0n || along >= length) continue;
      const foot = {
        x: plus(fraction(u.x), fraction(along * (v.x - u.x), length)),
        y: plus(fraction(u.y), fraction(along * (v.y - u.y), length)),
      };
      const pair = swap ? [foot, whole(p)] : [whole(p), foot];
      offer(cross(u, v, p) ** 2n, length, ...pair, [p.row, u.row, v.row]);
    }
  };
  toEdges(A, edges(B), false);
  toEdges(B, edges(A), true);
  return best;
}

/* -- the verdict --------------------------------------------------------------------------------------------------- */

/* Whether a plane separates the points for which positive[i] is true from the others, with proof.

   verdict     "complete", "quasi-complete" or "overlap"
   plane       complete: (w₁, w₂, b) as fractions, the widest between the classes
   direction   complete and quasi-complete: a plane with no point on the wrong side, as fractions
   rows        complete: the points that hold the plane; otherwise those whose means are equal
   weights     of `rows`: positive, their sum is 1, half of it in each class
   spanning    overlap: [rows, weights] whose means are equal and whose points span all others; rank */
function decide(points, positive) {
  const { X, Y, D } = integers(points);
  const corners = points.map((_, row) => ({ x: X[row], y: Y[row], row }));
  const A = hull(corners.filter((p) => positive[p.row])), B = hull(corners.filter((p) => !positive[p.row]));
  const common = commonCorners(A, B).next().value;
  if (!common) {
    const { a, b, rows } = closest(A, B);
    const minus = (p, q) => plus(p, [-q[0], q[1]]);
    const w = [minus(a.x, b.x), minus(a.y, b.y)];
    const middle = half(plus(times(w[0], plus(a.x, b.x)), times(w[1], plus(a.y, b.y))));
    const plane = [times(w[0], [D, 1n]), times(w[1], [D, 1n]), [-middle[0], middle[1]]];
    return { verdict: "complete", plane, direction: plane, rows: [...new Set(rows)].sort((i, j) => i - j), A, B, D };
  }
  const [rows, weights] = joined(...common);
  const rank = rankOf([...A, ...B]);
  const direction = weakDirection(A, B, rank);
  if (direction) {
    const [p, q, r] = direction;
    return { verdict: "quasi-complete", direction: [fraction(p * D), fraction(q * D), fraction(r)], rows, weights, A, B, D };
  }
  return { verdict: "overlap", rows, weights, spanning: spanning(A, B, rank), rank, A, B, D };
}

/* Two means, each with half of the weight: [rows, weights]. */
function joined(inA, inB) {
  const parts = [...inA, ...inB].map(([row, w]) => [row, half(w)]).sort((i, j) => i[0] - j[0]);
  return [parts.map(([row]) => row), parts.map(([, w]) => w)];
}

/* The rank of the rows (x, y, 1): 1 for one place, 2 for places on a line, 3 otherwise. */
function rankOf(corners) {
  const other = corners.find((p) => !same(p, corners[0]));
  if (!other) return 1;
  return corners.some((p) => cross(corners[0], other, p) !== 0n) ? 3 : 2;
}

/* A plane (p, q, r) in integers with A on its positive and B on its negative side, points on it allowed, that has as
   few points on it as possible; null if there is none but 0. It is the sum of the extreme rays of the cone of all such
   planes: each contains two corners, or, where all corners lie on one line, one of them. */
function weakDirection(A, B, rank) {
  const all = [...A, ...B];
  const product = (u, v) => [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
  const row = (p) => [p.x, p.y, 1n];
  const rays = [];
  if (rank === 3) {
    all.forEach((p, i) => all.slice(i + 1).forEach((q) => { if (!same(p, q)) rays.push(product(row(p), row(q))); }));
  } else if (rank === 2) {
    const line = product(row(all[0]), row(all.find((p) => !same(p, all[0]))));
    for (const p of all) rays.push(product(row(p), line));
  }
  let sum = [0n, 0n, 0n], found = false;
  for (const ray of rays) {
    const value = (p) => ray[0] * p.x + ray[1] * p.y + ray[2];
    const a = A.map(value), b = B.map(value);
    for (const sign of [1n, -1n]) {
      if (a.every((f) => sign * f >= 0n) && b.every((f) => sign * f <= 0n)) {
        sum = sum.map((s, j) => s + sign * ray[j]);
        found = true;
      }
    }
  }
  return found ? sum : null;
}

/* At most 2·rank points, with equal means, that span all others: they show that no plane separates even weakly. */
function spanning(A, B, rank) {
  const places = [...commonCorners(A, B)].map(([inA]) => {
    const at = (key) => inA.reduce((sum, [row, w]) => plus(sum, times(w, fraction(A.find((p) => p.row === row)[key]))), [0n, 1n]);
    return [at("x"), at("y")];
  });
  const mean = [0, 1].map((j) => times(places.reduce((s, p) => plus(s, p[j]), [0n, 1n]), fraction(1n, BigInt(places.length))));
  const unit = mean[0][1] * mean[1][1];
  const centre = { x: mean[0][0] * mean[1][1], y: mean[1][0] * mean[0][1] };  // inside both, relative to their span
  const single = (h) => h.map((_, k) => meanOfCorners(centre, h, k, unit)).sort((p, q) => p.length - q.length);
  const both = (p, q) => {
    const sum = new Map(p.map(([row, w]) => [row, half(w)]));
    for (const [row, w] of q) sum.set(row, plus(sum.get(row) || [0n, 1n], half(w)));
    return [...sum];
  };
  const double = (list) => list.flatMap((p, i) => list.slice(i + 1).map((q) => both(p, q)));
  const inA = single(A), inB = single(B), byRow = new Map([...A, ...B].map((p) => [p.row, p]));
  const tries = [[inA, inB], [double(inA), inB], [inA, double(inB)]];
  for (const [lefts, rights] of tries) for (const left of lefts) for (const right of rights) {
    const used = [...left, ...right].map(([row]) => byRow.get(row));
    if (used.length <= Math.max(2 * rank, 2) && rankOf(used) === rank) return joined(left, right);
  }
  return null;
}

/* -- learners: {steps: [{row, score, margin, W, b, ...}], outcome, ...}; steps[0] is the start ---------------------- */

const MOST_VISITS = 3000, MOST_EPOCHS = 200;

/* The planes that a visit moves, each with its sign, and the margin: as in the library's exact learners. */
function candidate(scores, truth, planes) {
  if (planes === 1) {
    const side = truth === 1 ? 1 : -1;
    return { moves: [[0, side]], margin: side > 0 ? scores[0] : -scores[0], tie: false };
  }
  let rival = truth === 0 ? 1 : 0;
  for (let k = 0; k < planes; k += 1) if (k !== truth && scores[k] > scores[rival]) rival = k;
  const margin = scores[truth] - scores[rival];
  return { moves: [[truth, 1], [rival, -1]], margin, tie: truth < rival };
}

/* Rosenblatt's rule in cyclic order, and the average over all visits, in integers: w = W/D, f = F/D². */
function perceptron(points, labels, classes) {
  const { X, Y, D } = integers(points), planes = classes === 2 ? 1 : classes;
  const W = Array.from({ length: planes }, () => [0n, 0n, 0n]), total = Array.from({ length: planes }, () => [0n, 0n, 0n]);
  const steps = [{ W: W.map((w) => [...w]), total: W.map((w) => [...w]), clock: 0n }];
  let clock = 0n, separated = false;
  for (let epoch = 0; !separated && epoch < MOST_EPOCHS && clock < MOST_VISITS; epoch += 1) {
    let moved = false;
    for (let row = 0; row < points.length; row += 1) {
      const z = [X[row], Y[row], D];  // (x, 1)·D; the bias is W[2]/D
      const scores = W.map((w) => w[0] * z[0] + w[1] * z[1] + w[2] * z[2]);
      const { moves, margin, tie } = candidate(scores, labels[row], planes);
      const mistake = margin <= 0n && !(margin === 0n && tie);
      if (mistake) {
        for (const [k, sign] of moves) for (let j = 0; j < 3; j += 1) {
          W[k][j] += BigInt(sign) * z[j];
          total[k][j] += BigInt(sign) * z[j] * clock;
        }
        moved = true;
      }
      clock += 1n;
      if (mistake) steps.push({ row, epoch: epoch + 1, scores, margin, moves, clock, W: W.map((w) => [...w]), total: total.map((w) => [...w]) });
    }
    separated = !moved;
  }
  return { steps, D, clock, outcome: separated ? "separated" : "budget", exact: true };
}

/* The planes of a step as fractions [w₁, w₂, b]: the last iterate, or the average over the visits so far. */
function exactPlanes(run, number, averaged) {
  const { W, total } = run.steps[number];
  if (!averaged || number === 0) return W.map((w) => w.map((value) => fraction(value, run.D)));
  const last = number === run.steps.length - 1;
  const clock = last ? run.clock : run.steps[number].clock;
  return W.map((w, k) => w.map((value, j) => fraction(value * clock - total[k][j], run.D * clock)));
}

/* PA-I with aggressiveness C, the bias as a feature of value 1, in doubles. */
function passiveAggressive(points, labels, classes, C = 1) {
  const planes = classes === 2 ? 1 : classes;
  const W = Array.from({ length: planes }, () => [0, 0, 0]);
  const steps = [{ W: W.map((w) => [...w]) }];
  const look = (row) => {
    const z = [points[row].x, points[row].y, 1];
    const scores = W.map((w) => w[0] * z[0] + w[1] * z[1] + w[2]);
    return { z, scores, ...candidate(scores, labels[row], planes) };
  };
  const wrong = ({ margin, tie }) => margin <= 0 && !(margin === 0 && tie);
  let visits = 0, solved = false;
  for (let epoch = 0; !solved && epoch < MOST_EPOCHS && visits < MOST_VISITS; epoch += 1) {
    let satisfied = true;
    for (let row = 0; row < points.length; row += 1) {
      const seen = look(row), lack = 1 - seen.margin;
      satisfied = satisfied && !wrong(seen);
      visits += 1;
      if (!(lack > 0)) continue;
      const q = seen.moves.length * (seen.z[0] ** 2 + seen.z[1] ** 2 + 1), size = Math.min(C, lack / q);
      for (const [k, sign] of seen.moves) for (let j = 0; j < 3; j += 1) W[k][j] += sign * size * seen.z[j];
      steps.push({ row, epoch: epoch + 1, scores: seen.scores, margin: seen.margin, moves: seen.moves, size, W: W.map((w) => [...w]) });
    }
    solved = satisfied && points.every((_, row) => !wrong(look(row)));
  }
  return { steps, outcome: solved ? "separated" : "budget", exact: false };
}

/* Softmax regression by gradient descent on the mean log loss, in doubles. */
function softmax(points, labels, classes, rate = 1, descents = 100) {
  const W = Array.from({ length: classes }, () => [0, 0, 0]);
  const steps = [];
  for (let t = 0; t <= descents; t += 1) {
    const slope = W.map(() => [0, 0, 0]);
    let loss = 0;
    points.forEach((p, row) => {
      const z = [p.x, p.y, 1], scores = W.map((w) => w[0] * z[0] + w[1] * z[1] + w[2]), top = Math.max(...scores);
      const odds = scores.map((s) => Math.exp(s - top)), sum = odds.reduce((s, o) => s + o, 0);
      loss += Math.log(sum) - (scores[labels[row]] - top);
      odds.forEach((o, k) => z.forEach((value, j) => { slope[k][j] += (o / sum - (k === labels[row] ? 1 : 0)) * value; }));
    });
    steps.push({ loss: loss / points.length, W: W.map((w) => [...w]) });
    W.forEach((w, k) => w.forEach((_, j) => { w[j] -= rate * slope[k][j] / points.length; }));
  }
  return { steps, outcome: "descent", exact: false };
}

/* Novikoff's bound for a plane (w, b) in fractions that separates: (R² + 1)(‖w‖² + b²)/min(y·f)², or null. */
function bound(points, labels, plane) {
  const { X, Y, D } = integers(points);
  const [p, q, r] = plane, unit = p[1] * q[1] * r[1];
  const [u, v, b] = [p, q, r].map((value) => value[0] * (unit / value[1]));
  let least = null, radius = 0n;
  for (let row = 0; row < points.length; row += 1) {
    const f = (labels[row] === 1 ? 1n : -1n) * (u * X[row] + v * Y[row] + b * D);
    const square = X[row] * X[row] + Y[row] * Y[row] + D * D;
    if (least === null || f < least) least = f;
    if (square > radius) radius = square;
  }
  if (least <= 0n) return null;
  const length = u * u + v * v + b * b;
  return {
    value: asDouble(radius * length, least * least),
    R: Math.sqrt(asDouble(radius, D * D)),
    gamma: Math.sqrt(asDouble(least * least, D * D * length)),
  };
}

window.playground = { decide, perceptron, exactPlanes, passiveAggressive, softmax, bound, asText, mount, figures: [] };

/* -- the figure ------------------------------------------------------------------------------------------------------ */

const NAMES = ["blue circle", "orange square", "green triangle", "purple diamond"];
const SIGNS = ["●", "■", "▲", "◆"];
const SHAPES = ["M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0", "M-5.5,-5.5h11v11h-11z", "M0,-7l6.5,11.5h-13z", "M0,-7.5l6.5,7.5l-6.5,7.5l-6.5,-7.5z"];
const WIDTH = 640, HEIGHT = 480;
const MOST_POINTS = 200;

const LEARNERS = {
  perceptron: { title: "perceptron", run: perceptron },
  averaged: { title: "averaged perceptron", run: perceptron },
  pa: { title: "passive-aggressive", run: passiveAggressive },
  softmax: { title: "softmax regression", run: softmax },
};

const short = (x) => (Number.isInteger(x) ? `${x}` : `${Number(x.toPrecision(4))}`).replace("-", "−");
const pair = (p) => `(${short(p.x)}, ${short(p.y)})`;
const updates = (count) => `${count} update${count === 1 ? "" : "s"}`;
const rowsInWords = (rows) => `${rows.length > 1 ? "rows" : "row"} ${rows.join(", ")}`;

function element(name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

class Figure {
  constructor(root, points) {
    this.root = root;
    this.points = points;
    this.history = [];
    this.learner = root.dataset.learner || "perceptron";
    this.label = 1;
    this.chosen = null;
    this.at = null;  // null: the end of the run
    this.build();
    this.fit();
    this.update();
  }

  /* -- structure */

  build() {
    this.root.innerHTML = `
      <div class="pg-bar">
        <label>Learner <select class="pg-learner"></select></label>
        <span class="pg-new" role="radiogroup" aria-label="Class of new points"></span>
        <button type="button" class="pg-flip">Change class</button>
        <button type="button" class="pg-delete">Delete</button>
        <button type="button" class="pg-undo">Undo</button>
      </div>
      <div class="pg-main">
        <div>
          <svg class="pg-plane" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" tabindex="0"
            aria-label="Points in the plane. Tab reaches each point, arrow keys move it, Enter changes its class, Delete removes it, N adds one, U undoes.">
            <defs><clipPath id="pg-clip-${playground.figures.length}"><rect width="${WIDTH}" height="${HEIGHT}"/></clipPath></defs>
            <g class="pg-back" clip-path="url(#pg-clip-${playground.figures.length})"></g><g class="pg-points"></g>
          </svg>
          <div class="pg-player">
            <button type="button" class="pg-first" aria-label="To the start">|◀</button>
            <button type="button" class="pg-prev" aria-label="One update back">◀</button>
            <button type="button" class="pg-next" aria-label="One update forwards">▶</button>
            <button type="button" class="pg-last" aria-label="To the end">▶|</button>
            <input type="range" class="pg-slider" min="0" aria-label="Update">
          </div>
        </div>
        <div class="pg-side">
          <div class="pg-verdict" aria-live="polite"></div>
          <div class="pg-step"></div>
          <figure class="pg-chart"></figure>
        </div>
      </div>
      <p class="pg-hint">Drag a point, or click beside the points to add one. Keys: Tab to a point, arrows move it, Enter changes
        its class, Delete removes it, N adds one, U undoes; [ and ] step back and forwards.</p>
      <details class="pg-data"><summary>Paste your own points</summary>
        <p>One point per line: x, y, class. Two to four classes, at most ${MOST_POINTS} points.</p>
        <textarea rows="8" spellcheck="false" aria-label="Points: x, y, class"></textarea>
        <button type="button" class="pg-read">Use these points</button> <span class="pg-problem" role="alert"></span>
        <p>To go on in the lab: <button type="button" class="pg-save">Save points.json</button>
          <code>rosenblatt lab points.json</code></p>
      </details>`;
    this.find = (name) => this.root.querySelector(`.pg-${name}`);
    this.plane = this.find("plane");
    for (const [value, { title }] of Object.entries(LEARNERS)) this.find("learner").append(element("option", { value }, title));
    this.find("learner").value = this.learner;
    this.find("learner").onchange = (event) => { this.learner = event.target.value; this.at = null; this.update(); };
    SIGNS.forEach((sign, k) => {
      const button = element("button", { type: "button", role: "radio", class: `pg-class pg-c${k}`, "aria-label": `new points: ${NAMES[k]}` }, sign);
      button.onclick = () => { this.label = k; this.update(); };
      this.find("new").append(button);
    });
    this.find("flip").onclick = () => this.flip(this.chosen);
    this.find("delete").onclick = () => this.remove(this.chosen);
    this.find("undo").onclick = () => this.undo();
    this.find("first").onclick = () => this.go(0);
    this.find("prev").onclick = () => this.go(this.number - 1);
    this.find("next").onclick = () => this.go(this.number + 1);
    this.find("last").onclick = () => this.go(Infinity);
    this.find("slider").oninput = (event) => this.go(Number(event.target.value));
    this.find("read").onclick = () => this.read(this.root.querySelector("textarea").value);
    this.find("save").onclick = () => this.save();
    this.plane.addEventListener("pointerdown", (event) => this.press(event));
    this.plane.addEventListener("pointermove", (event) => this.drag(event));
    this.plane.addEventListener("pointerup", (event) => this.release(event));
    this.plane.addEventListener("pointercancel", () => { this.held = null; });
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  /* The window: what the points fill, with room around it, and a grid that is a power of two. */
  fit() {
    const xs = this.points.map((p) => p.x), ys = this.points.map((p) => p.y);
    const middle = (v) => (v.length ? (Math.min(...v) + Math.max(...v)) / 2 : 0);
    const spread = (v) => (v.length ? Math.max(...v) - Math.min(...v) : 0);
    const span = Math.max(spread(xs), spread(ys) * WIDTH / HEIGHT) * 1.5 || 8;
    this.scale = WIDTH / span;
    this.centre = [middle(xs), middle(ys)];
    this.grid = 2 ** Math.floor(Math.log2(span / 64));
  }

  toScreen(x, y) {
    return [WIDTH / 2 + (x - this.centre[0]) * this.scale, HEIGHT / 2 - (y - this.centre[1]) * this.scale];
  }

  /* The point of the grid under a place on the screen, inside the window. */
  toPoint(event) {
    const box = this.plane.getBoundingClientRect();
    const across = Math.min(Math.max((event.clientX - box.left) / box.width, 0.01), 0.99) * WIDTH;
    const down = Math.min(Math.max((event.clientY - box.top) / box.height, 0.01), 0.99) * HEIGHT;
    const snapped = (value) => Math.round(value / this.grid) * this.grid;
    return { x: snapped(this.centre[0] + (across - WIDTH / 2) / this.scale), y: snapped(this.centre[1] - (down - HEIGHT / 2) / this.scale) };
  }

  /* -- editing */

  remember() { this.history.push(this.points.map((p) => ({ ...p }))); }

  undo() {
    if (!this.history.length) return;
    this.points = this.history.pop();
    if (this.chosen !== null && this.chosen >= this.points.length) this.chosen = null;
    this.update();
  }

  add(place) {
    if (this.points.length >= MOST_POINTS) return;
    this.remember();
    this.points.push({ ...place, label: this.label });
    this.chosen = this.points.length - 1;
    this.update();
  }

  move(row, place) { Object.assign(this.points[row], place); this.update(); }

  flip(row) {
    if (row === null) return;
    this.remember();
    const used = Math.max(2, ...this.points.map((p) => p.label + 1));
    this.points[row].label = (this.points[row].label + 1) % used;
    this.update();
  }

  remove(row) {
    if (row === null) return;
    this.remember();
    this.points.splice(row, 1);
    this.chosen = null;
    this.update();
  }

  press(event) {
    if (event.button) return;
    const target = event.target.closest("[data-row]");
    if (target) {
      event.preventDefault();
      this.chosen = Number(target.dataset.row);
      target.focus();
      this.held = { row: this.chosen, from: [event.clientX, event.clientY], moved: false };
      this.plane.setPointerCapture(event.pointerId);
      this.update();
    } else {
      this.held = { row: null, from: [event.clientX, event.clientY] };
    }
  }

  drag(event) {
    if (!this.held || this.held.row === null) return;
    const { row, from } = this.held;
    if (!this.held.moved) {
      if (Math.hypot(event.clientX - from[0], event.clientY - from[1]) < 3) return;
      this.remember();
      this.held.moved = true;
    }
    this.move(row, this.toPoint(event));
  }

  release(event) {
    const held = this.held;
    this.held = null;
    const near = held && Math.hypot(event.clientX - held.from[0], event.clientY - held.from[1]) < 6;
    if (held && held.row === null && near) this.add(this.toPoint(event));
  }

  key(event) {
    if (/^(TEXTAREA|SELECT|INPUT)$/.test(event.target.tagName) || event.altKey || event.metaKey) return;
    if (event.ctrlKey && event.key !== "z") return;
    const target = event.target.closest("[data-row]"), row = target ? Number(target.dataset.row) : null;
    const far = this.grid * (event.shiftKey ? 4 : 1);
    const ways = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] };
    const way = ways[event.key];
    if (way && row !== null) {
      this.remember();
      this.chosen = row;
      this.move(row, { x: this.points[row].x + way[0], y: this.points[row].y + way[1] });
    } else if ((event.key === "Enter" || event.key === " ") && row !== null) {
      this.chosen = row;
      this.flip(row);
    } else if ((event.key === "Delete" || event.key === "Backspace") && row !== null) {
      this.remove(row);
      this.plane.focus();
    } else if (event.key === "n") {
      const snapped = (value) => Math.round(value / this.grid) * this.grid;
      this.add({ x: snapped(this.centre[0]), y: snapped(this.centre[1]) });
      this.find("points").lastChild.focus();
    } else if (event.key === "u" || (event.ctrlKey && event.key === "z")) {
      this.undo();
    } else if (event.key === "[") {
      this.go(this.number - 1);
    } else if (event.key === "]") {
      this.go(this.number + 1);
    } else {
      return;
    }
    event.preventDefault();
  }

  go(number) {
    const last = this.run.steps.length - 1;
    this.at = number >= last ? null : Math.max(0, number);
    this.draw();
  }

  /* Points from text; the first line may be a heading. */
  read(text) {
    const say = (problem) => { this.find("problem").textContent = problem; };
    const lines = text.split(/\r?\n/).map((line) => line.split(/[,;\t]/).map((cell) => cell.trim())).filter((cells) => cells.join(""));
    const number = (cell) => (cell === "" ? NaN : Number(cell));
    if (lines.length && Number.isNaN(number(lines[0][0]))) lines.shift();
    const bad = lines.findIndex((cells) => cells.length !== 3 || !Number.isFinite(number(cells[0])) || !Number.isFinite(number(cells[1])));
    const names = [...new Set(lines.map((cells) => cells[2]))].sort();
    if (bad >= 0) return say(`Point ${bad}: expected x, y, class, found "${lines[bad].join(", ")}".`);
    if (names.length < 2 || names.length > 4) return say(`Expected two to four classes, found ${names.length}.`);
    if (lines.length > MOST_POINTS) return say(`At most ${MOST_POINTS} points, found ${lines.length}.`);
    const drawable = (cell) => number(cell) === 0 || (Math.abs(number(cell)) > 1e-15 && Math.abs(number(cell)) < 1e15);
    if (lines.some((cells) => !drawable(cells[0]) || !drawable(cells[1]))) return say("Expected 0, or numbers between 1e-15 and 1e15.");
    this.remember();
    this.points = lines.map(([x, y, name]) => ({ x: number(x), y: number(y), label: names.indexOf(name) }));
    this.chosen = null;
    this.fit();
    this.update();
    return say(`${lines.length} points: ${names.map((name, k) => `${SIGNS[k]} ${name}`).join(", ")}.`);
  }

  /* The state as the lab reads it: the perceptron on these points, at the update that is shown. */
  forLab() {
    return JSON.stringify({
      format: 1, x: this.points.map((p) => p.x), y: this.points.map((p) => p.y), labels: this.codes,
      classes: this.present.map((k) => SIGNS[k]), step: this.number, page: 0, axes: ["x₁", "x₂"], note: "", columns: [], pages: {},
      settings: { bias: "unit", rate: 1, margin: 0, order: "cyclic", rows: "", seed: 0, start: [0, 0, 0] },
    });
  }

  save() {
    const url = URL.createObjectURL(new Blob([this.forLab()], { type: "application/json" }));
    element("a", { href: url, download: "points.json" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  /* -- computing and drawing */

  update() {
    const labels = this.points.map((p) => p.label);
    this.present = [...new Set(labels)].sort();
    this.codes = labels.map((label) => this.present.indexOf(label));
    const classes = this.present.length;
    this.verdicts = [];
    this.run = { steps: [{ W: [], total: [] }], outcome: "none", exact: false };
    if (classes > 1) {
      const rivals = classes === 2 ? [1] : this.present.map((_, k) => k);
      this.verdicts = rivals.map((k) => ({ k, ...decide(this.points, this.codes.map((code) => code === k)) }));
      this.run = LEARNERS[this.learner].run(this.points, this.codes, classes);
    }
    this.draw();
  }

  get number() { return this.at === null ? this.run.steps.length - 1 : Math.min(this.at, this.run.steps.length - 1); }

  /* The planes of the step that is shown, in doubles: one per class, or one for two classes. */
  planes() {
    const { run, number } = this;
    if (!run.exact) return run.steps[number].W;
    return exactPlanes(run, number, this.learner === "averaged").map((w) => w.map(([n, d]) => asDouble(n, d)));
  }

  draw() {
    SIGNS.forEach((_, k) => this.find("new").children[k].setAttribute("aria-checked", `${k === this.label}`));
    this.find("flip").disabled = this.find("delete").disabled = this.chosen === null;
    this.find("undo").disabled = !this.history.length;
    this.find("save").disabled = this.present.length < 2;
    const last = this.run.steps.length - 1;
    this.find("slider").max = last;
    this.find("slider").value = this.number;
    this.find("prev").disabled = this.find("first").disabled = this.number === 0;
    this.find("next").disabled = this.find("last").disabled = this.number === last;
    this.find("back").innerHTML = this.background();
    this.drawPoints();
    this.find("verdict").innerHTML = this.verdictText();
    this.find("step").innerHTML = this.stepText();
    this.find("chart").innerHTML = this.chart();
    const area = this.root.querySelector("textarea");
    if (document.activeElement !== area) area.value = ["x,y,class", ...this.points.map((p) => `${p.x},${p.y},${p.label}`)].join("\n");
  }

  drawPoints() {
    const group = this.find("points");
    while (group.children.length > this.points.length) group.lastChild.remove();
    while (group.children.length < this.points.length) {
      const made = document.createElementNS("http://www.w3.org/2000/svg", "g");
      made.setAttribute("tabindex", "0");
      made.setAttribute("role", "button");
      made.innerHTML = '<circle class="pg-touch" r="18"/><circle class="pg-ring" r="12"/><path/><text x="10" y="-9"></text>';
      group.append(made);
    }
    const proving = new Set(this.verdicts.flatMap((v) => v.rows)), visited = this.run.steps[this.number].row;
    this.points.forEach((p, row) => {
      const made = group.children[row], [x, y] = this.toScreen(p.x, p.y);
      made.dataset.row = row;
      made.setAttribute("transform", `translate(${x},${y})`);
      const marks = [proving.has(row) && "pg-proves", visited === row && "pg-visited", this.chosen === row && "pg-chosen"];
      made.setAttribute("class", ["pg-point", `pg-c${p.label}`, ...marks.filter(Boolean)].join(" "));
      made.setAttribute("aria-label", `row ${row}, ${NAMES[p.label]}, at ${pair(p)}`);
      made.querySelector("path").setAttribute("d", SHAPES[p.label]);
      made.querySelector("text").textContent = row;
    });
  }

  /* The part of the window where inside(x, y) = a·x + b·y + c ≥ 0 for all of `sides`. */
  clipped(sides) {
    const { centre, scale } = this, w = WIDTH / 2 / scale, h = HEIGHT / 2 / scale;
    let corners = [[-w, -h], [w, -h], [w, h], [-w, h]].map(([x, y]) => [x + centre[0], y + centre[1]]);
    for (const [a, b, c] of sides) {
      const value = ([x, y]) => a * x + b * y + c, kept = [];
      corners.forEach((p, i) => {
        const q = corners[(i + 1) % corners.length], f = value(p), g = value(q);
        if (f >= 0) kept.push(p);
        if ((f > 0 && g < 0) || (f < 0 && g > 0)) kept.push([0, 1].map((j) => p[j] + (q[j] - p[j]) * f / (f - g)));
      });
      corners = kept;
    }
    return corners.map(([x, y]) => this.toScreen(x, y).map((v) => v.toFixed(1)).join(",")).join(" ");
  }

  line([a, b, c], kind) {
    const length = Math.hypot(a, b);
    if (!length) return "";
    const far = 2 * (WIDTH + HEIGHT) / this.scale, off = (a * this.centre[0] + b * this.centre[1] + c) / length;
    const at = [this.centre[0] - off * a / length, this.centre[1] - off * b / length];
    const [p, q] = [-far, far].map((t) => this.toScreen(at[0] - t * b / length, at[1] + t * a / length));
    return `<line class="${kind}" x1="${p[0]}" y1="${p[1]}" x2="${q[0]}" y2="${q[1]}"/>`;
  }

  /* An arrow across the line, into the side where a·x + b·y + c > 0. */
  arrow([a, b, c], kind) {
    const length = Math.hypot(a, b);
    if (!length) return "";
    const off = (a * this.centre[0] + b * this.centre[1] + c) / length;
    const [x, y] = this.toScreen(this.centre[0] - off * a / length, this.centre[1] - off * b / length);
    const u = a / length, v = -b / length, tip = [x + 46 * u, y + 46 * v];
    const wing = (s) => `${tip[0] - 10 * u - s * 6 * v},${tip[1] - 10 * v + s * 6 * u}`;
    return `<path class="${kind} pg-arrow" d="M${x},${y}L${tip}M${wing(1)}L${tip}L${wing(-1)}"/>`;
  }

  background() {
    const planes = this.planes(), two = planes.length === 1, kind = (k) => `pg-c${this.present[k]}`;
    const minus = (p, q) => p.map((value, j) => value - q[j]), parts = [];
    const scores = two ? [planes[0].map((value) => -value), planes[0]] : planes;
    const moved = planes.some((w) => w.some(Boolean));
    if (moved) {
      scores.forEach((own, k) => {
        const sides = scores.filter((_, j) => j !== k).map((other) => minus(own, other));
        parts.push(`<polygon class="pg-region ${kind(k)}" points="${this.clipped(sides)}"/>`);
      });
    }
    this.verdicts.forEach((v) => [v.A, v.B].slice(0, this.verdicts.length > 1 ? 1 : 2).forEach((h, i) => {
      const k = i === 0 ? v.k : 1 - v.k;
      const corners = h.map(({ row }) => this.toScreen(this.points[row].x, this.points[row].y).join(","));
      parts.push(`<polygon class="pg-hull ${kind(k)}" points="${corners.join(" ")}"/>`);
    }));
    if (moved) {
      planes.forEach((w, k) => parts.push(this.line(w, two ? "pg-line" : `pg-own ${kind(k)}`), this.arrow(w, two ? "pg-line" : `pg-own ${kind(k)}`)));
    }
    this.verdicts.forEach((v) => parts.push(this.proof(v)));
    return parts.join("");
  }

  /* The proof, drawn: the widest plane, or the two means and the point in which they are equal. */
  proof(v) {
    if (v.verdict === "complete") {
      return this.verdicts.length > 1 ? "" : this.line(v.plane.map(([n, d]) => asDouble(n, d)), "pg-widest");
    }
    const place = (row) => this.toScreen(this.points[row].x, this.points[row].y);
    const sides = [true, false].map((side) => v.rows.filter((row) => (this.codes[row] === v.k) === side));
    const lines = sides.map((rows) => `<polygon class="pg-mean" points="${rows.map((row) => place(row).join(",")).join(" ")}"/>`);
    const share = (row) => 2 * asDouble(...v.weights[v.rows.indexOf(row)]);
    const [x, y] = [0, 1].map((j) => sides[0].reduce((sum, row) => sum + share(row) * place(row)[j], 0));
    return `${lines.join("")}<path class="pg-common" d="M${x - 7},${y - 7}l14,14m0,-14l-14,14"/>`;
  }

  verdictText() {
    if (!this.verdicts.length) return "<p><b>One class only.</b> Add a point of another class.</p>";
    return this.verdicts.map((v) => {
      const name = this.verdicts.length > 1 ? `${SIGNS[this.present[v.k]]} against the rest: ` : "";
      if (v.verdict === "complete") {
        const [a, b] = v.plane.map(([n, d]) => asDouble(n, d)), margin = Math.hypot(a, b) / asDouble(v.D) ** 2 / 2;
        return `<p class="pg-yes"><b>${name}${name ? "s" : "S"}eparated.</b> The widest plane has a margin of ${short(margin)}. ${rowsInWords(v.rows).replace("r", "R")} hold it.</p>`;
      }
      const tied = v.verdict === "quasi-complete";
      const title = `${name}${tied ? "separated only weakly" : "not separated"}`, capital = title[0].toUpperCase() + title.slice(1);
      return `<p class="${tied ? "pg-tie" : "pg-no"}"><b>${capital}</b> (${v.verdict}). ${rowsInWords(v.rows).replace("r", "R")} prove it:
        a weighted mean of one class equals a weighted mean of the other.<span class="pg-equation">${this.equation(v)}</span></p>`;
    }).join("");
  }

  /* 2/3·(1, 0) + 1/3·(4, 0) = (2, 0) */
  equation(v) {
    const side = (own) => v.rows.map((row, i) => [row, v.weights[i]]).filter(([row]) => (this.codes[row] === v.k) === own)
      .map(([row, w]) => `${asText(times(w, [2n, 1n])) === "1" ? "" : `${asText(times(w, [2n, 1n]))}·`}${pair(this.points[row])}`).join(" + ");
    return `${side(true)} = ${side(false)}`;
  }

  stepText() {
    const { run, number } = this, step = run.steps[number], last = run.steps.length - 1;
    if (run.outcome === "none") return "";
    if (this.learner === "softmax") return `<p><b>Step ${number} of ${last}</b> of gradient descent: mean log loss ${short(step.loss)}.</p>`;
    const ended = run.outcome === "separated" ? "All points are on their side." : "It stopped without separating them.";
    const end = number === last ? ` ${this.learner === "averaged" ? ended.replace("All points are on their side", "The last iterate has all points on their side") : ended}` : "";
    if (number === 0) return `<p><b>Start:</b> w = (0, 0), b = 0. ${updates(last)} to come.${end}</p>`;
    const p = this.points[step.row], unit = run.exact ? run.D * run.D : null;
    const margin = run.exact ? asDouble(step.margin, unit) : step.margin;
    const before = run.steps[number - 1].W, vector = (w) => {
      const [a, b, c] = run.exact ? w.map((value) => asDouble(value, run.D)) : w;
      return `w = (${short(a)}, ${short(b)}), b = ${short(c)}`;
    };
    const two = step.W.length === 1, sign = two ? (this.codes[step.row] === 1 ? "+1" : "−1") : SIGNS[this.present[this.codes[step.row]]];
    const rule = this.learner === "pa" ? `y·f = ${short(margin)} &lt; 1, step ${short(step.size)}` : `${two ? "y·f" : "margin"} = ${short(margin)} ≤ 0: a mistake`;
    const lines = step.moves.map(([k]) => `${two ? "" : `${SIGNS[this.present[k]]} `}${vector(before[k])} → <b>${vector(step.W[k])}</b>`);
    return `<p><b>Update ${number} of ${last}</b>, epoch ${step.epoch}: row ${step.row}, x = ${pair(p)}, y = ${sign}.<br>
      ${this.learner === "pa" && !two ? rule.replace("y·f", "margin") : rule}.<br>${lines.join("<br>")}.${end}</p>`;
  }

  /* Two classes: ‖w‖ between γ·k and R·√k, whose meeting is the bound. Otherwise the loss or the updates. */
  chart() {
    const { run } = this, last = run.steps.length - 1;
    if (run.outcome === "none" || last < 1) return "";
    if (this.learner === "softmax") return this.curves([[run.steps.map((s, k) => [k, s.loss]), "pg-curve"]], last, "mean log loss after each step");
    const separates = run.exact && run.steps[0].W.length === 1 && run.outcome === "separated";
    const proven = separates ? bound(this.points, this.codes, exactPlanes(run, last, false)[0]) : null;
    if (!proven) {
      const many = run.steps.map((s, k) => [s.epoch || 0, k]);
      return this.curves([[many, "pg-curve"]], Math.max(1, run.steps[last].epoch), `${updates(last)}; no bound holds for this run`);
    }
    const end = Math.min(proven.value, Math.max(2.5 * last, 4)), ks = Array.from({ length: 41 }, (_, i) => i * end / 40);
    const norms = run.steps.map((s, k) => [k, Math.hypot(...s.W[0].map((value) => asDouble(value, run.D)))]);
    return this.curves([
      [ks.map((k) => [k, proven.R * Math.sqrt(k)]), "pg-upper"],
      [ks.map((k) => [k, proven.gamma * k]), "pg-lower"],
      [norms, "pg-curve"],
    ], end, `${updates(last)} of at most ${short(proven.value)}: ‖(w, b)‖ stays above γk = ${short(proven.gamma)}·k and below R√k = ${short(proven.R)}·√k, which meet at the bound`);
  }

  curves(list, right, title) {
    const top = Math.max(...list.flatMap(([places]) => places.map(([, v]) => v))) * 1.05 || 1, w = 300, h = 130;
    const place = ([x, y]) => `${(x / right * w).toFixed(1)},${(h - y / top * h).toFixed(1)}`;
    const lines = list.map(([places, kind]) => `<polyline class="${kind}" points="${places.map(place).join(" ")}"/>`);
    const [curve] = list.filter(([, kind]) => kind === "pg-curve"), here = curve[0][this.number];
    const dot = `<circle class="pg-here" r="4" cx="${here[0] / right * w}" cy="${h - here[1] / top * h}"/>`;
    return `<svg viewBox="-4 -4 ${w + 8} ${h + 8}" role="img" aria-label="${title}"><path class="pg-axes" d="M0,0V${h}H${w}"/>${lines.join("")}${dot}</svg>
      <figcaption>${title}.</figcaption>`;
  }
}

function mount(root) {
  const points = (root.dataset.points || "").trim().split(/\s+/).filter(Boolean).map((text) => {
    const [x, y, label] = text.split(",").map(Number);
    return { x, y, label };
  });
  const figure = new Figure(root, points);
  playground.figures.push(figure);
  return figure;
}

const start = () => document.querySelectorAll(".playground").forEach(mount);
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();

})();
