// The arithmetic of the playground: every unit is written once, as an expression of weights, inputs and noise. Forward
// pass, squared error, gradient and the typeset formula all follow from that one expression. No page is needed: node
// loads this file too, and tests/docs compares its values with those of the Python library.
"use strict";

const Engine = (() => {
  // -- expressions -------------------------------------------------------------------------------------------------

  const number = (value) => ({ kind: "number", value, args: [] });
  const lift = (a) => (typeof a === "number" ? number(a) : a);
  const make = (kind, args, rest = {}) => ({ kind, args: args.map(lift), ...rest });
  const add = (...terms) => make("add", terms);
  const mul = (...factors) => make("mul", factors);
  const sub = (a, b) => add(a, mul(-1, b));
  const div = (a, b) => make("div", [a, b]);
  const pow = (a, b) => make("pow", [a, b]);
  const unary = (kind) => (a) => make(kind, [a]);
  const [exp, log, abs, cos] = ["exp", "log", "abs", "cos"].map(unary);
  const [tanh, sigmoid, sign, side, negative] = ["tanh", "sigmoid", "sign", "side", "negative"].map(unary);
  const clamp = (a, low, high) => make("clamp", [a], { low, high });
  const guarded = (a, epsilon) => make("guarded", [a], { epsilon }); // a + epsilon, printed as a
  const smaller = (a, b) => make("smaller", [a, b]);
  const ifUsed = (weight, factor) => make("ifUsed", [weight, factor]); // 1 where the weight is exactly 0
  const named = (name, a) => make("named", [a], { name }); // printed by name, with a line of its own

  // For each kind: its value from the values of its arguments, and the derivative by each of them. `v` is the value
  // itself, `d` what arrives from above. Conventions at kinks are torch's.
  const KINDS = {
    add: { value: (a) => a.join(" + "), back: (a, n, v, d) => a.map(() => d) },
    mul: {
      value: (a) => a.join(" * "),
      back: (a, n, v, d) => a.map((_, i) => [d, ...a.filter((__, j) => j !== i)].join(" * ")),
    },
    div: { value: ([a, b]) => `${a} / ${b}`, back: ([, b], n, v, d) => [`${d} / ${b}`, `-${d} * ${v} / ${b}`] },
    pow: {
      value: ([a, b]) => `Math.pow(${a}, ${b})`,
      back: ([a, b], n, v, d) => [
        `${d} * ${b} * Math.pow(${a}, ${b} - 1)`,
        `(${a} === 0 && ${b} >= 0 ? 0 : ${d} * ${v} * Math.log(${a}))`,
      ],
    },
    exp: { value: ([a]) => `Math.exp(${a})`, back: (a, n, v, d) => [`${d} * ${v}`] },
    log: { value: ([a]) => `Math.log(${a})`, back: ([a], n, v, d) => [`${d} / ${a}`] },
    abs: { value: ([a]) => `Math.abs(${a})`, back: ([a], n, v, d) => [`${d} * Math.sign(${a})`] },
    cos: { value: ([a]) => `Math.cos(${a})`, back: ([a], n, v, d) => [`-${d} * Math.sin(${a})`] },
    tanh: { value: ([a]) => `Math.tanh(${a})`, back: (a, n, v, d) => [`${d} * (1 - ${v} * ${v})`] },
    sigmoid: { value: ([a]) => `1 / (1 + Math.exp(-${a}))`, back: (a, n, v, d) => [`${d} * ${v} * (1 - ${v})`] },
    sign: { value: ([a]) => `Math.sign(${a})`, back: () => ["0"] },
    side: { value: ([a]) => `(${a} < 0 ? -1 : 1)`, back: () => ["0"] }, // a sign for which zero is positive
    negative: { value: ([a]) => `(${a} < 0 ? 1 : 0)`, back: () => ["0"] },
    clamp: {
      value: ([a], n) => `Math.min(Math.max(${a}, ${n.low}), ${n.high})`,
      back: ([a], n, v, d) => [`(${a} >= ${n.low} && ${a} <= ${n.high} ? ${d} : 0)`],
    },
    guarded: { value: ([a], n) => `${a} + ${n.epsilon}`, back: (a, n, v, d) => [d] },
    smaller: {
      value: ([a, b]) => `Math.min(${a}, ${b})`,
      back: ([a, b], n, v, d) => [
        `(${a} < ${b} ? ${d} : ${a} === ${b} ? ${d} / 2 : 0)`,
        `(${b} < ${a} ? ${d} : ${a} === ${b} ? ${d} / 2 : 0)`,
      ],
    },
    ifUsed: { value: ([w, f]) => `(${w} === 0 ? 1 : ${f})`, back: ([w], n, v, d) => ["0", `(${w} === 0 ? 0 : ${d})`] },
    named: { value: ([a]) => a, back: (a, n, v, d) => [d] },
  };

  const LEAVES = {
    number: (n) => (n.value < 0 ? `(${n.value})` : `${n.value}`),
    parameter: (n) => `p[${n.index}]`,
    input: (n) => `x[at + ${n.index}]`,
    noise: (n) => `noise[at + ${n.index}]`,
  };

  /** Whether a value changes from sample to sample. */
  function varies(n) {
    if (n.varies === undefined) n.varies = n.kind === "input" || n.kind === "noise" || n.args.some(varies);
    return n.varies;
  }

  /** Whether a value depends on a weight, so that a gradient flows through it. */
  function learns(n) {
    if (n.learns === undefined) n.learns = n.kind === "parameter" || n.args.some(learns);
    return n.learns;
  }

  function ordered(root) {
    const order = new Map();
    (function visit(n) {
      if (order.has(n)) return;
      n.args.forEach(visit);
      order.set(n, `v${order.size}`);
    })(root);
    return order;
  }

  /**
   * Straight-line code for one expression of `inputs` inputs and `parameters` weights. What does not change from
   * sample to sample is computed once, outside the loop, and so is its part of the gradient.
   */
  function compile(root, inputs, parameters) {
    const names = ordered(root);
    const nodes = [...names.keys()];
    const name = (n) => names.get(n);
    const adjoint = (n) => name(n).replace("v", "d");
    const line = (n) => {
      const leaf = LEAVES[n.kind];
      return `const ${name(n)} = ${leaf ? leaf(n) : KINDS[n.kind].value(n.args.map(name), n)};`;
    };
    const back = (n) => {
      if (LEAVES[n.kind]) return n.kind === "parameter" ? `gradient[${n.index}] += ${adjoint(n)};` : "";
      const parts = KINDS[n.kind].back(n.args.map(name), n, name(n), adjoint(n));
      return n.args.map((a, i) => (learns(a) ? `${adjoint(a)} += ${parts[i]};` : "")).join(" ");
    };
    const outer = nodes.filter((n) => !varies(n));
    const inner = nodes.filter(varies);
    const zeros = (list) => list.filter(learns).map((n) => `let ${adjoint(n)} = 0;`).join(" ");
    const backwards = (list) => list.filter(learns).reverse().map(back).join("\n");
    const start = `${outer.map(line).join("\n")}`;
    const y = name(root);

    const output = new Function("p", "x", "noise", `const at = 0;\n${start}\n${inner.map(line).join("\n")}\nreturn ${y};`);
    const error = new Function(
      "p", "x", "target", "noise",
      `${start}\nlet total = 0;
      for (let s = 0, at = 0; s < target.length; s++, at += ${inputs}) {
        ${inner.map(line).join("\n")}
        const e = ${y} - target[s];
        total += e * e;
      }
      return total / target.length;`,
    );
    const slope = new Function(
      "p", "x", "target", "noise", "gradient",
      `${start}\n${zeros(outer)}\nlet total = 0;
      const share = 2 / target.length;
      for (let s = 0, at = 0; s < target.length; s++, at += ${inputs}) {
        ${inner.map(line).join("\n")}
        const e = ${y} - target[s];
        total += e * e;
        ${zeros(inner)}
        ${learns(root) ? `${adjoint(root)} += share * e;` : ""}
        ${backwards(inner)}
      }
      ${backwards(outer)}
      return total / target.length;`,
    );
    const alone = new Function(
      "p", "gradient",
      `${start}\n${zeros(outer)}\n${learns(root) && !varies(root) ? `${adjoint(root)} += 1;` : ""}
      ${backwards(outer)}\nreturn ${varies(root) ? "NaN" : y};`,
    );
    const empty = () => new Float64Array(parameters);
    return {
      /** The output for one sample. */
      output: (p, x, noise) => output(p, x, noise),
      /** The mean squared error over samples; `x` and `noise` are flat, `inputs` numbers for each target. */
      error: (p, x, target, noise) => error(p, x, target, noise),
      /** The same with its gradient. */
      slope: (p, x, target, noise) => {
        const gradient = empty();
        return { error: slope(p, x, target, noise, gradient), gradient };
      },
      /** The value of an expression of weights only, with its gradient. */
      alone: (p) => {
        const gradient = empty();
        return { value: alone(p, gradient), gradient };
      },
    };
  }

  /** The value of an expression of weights only. */
  function evaluate(n, p) {
    n.compiled ??= compile(n, 2, p.length);
    return n.compiled.alone(p).value;
  }

  // -- units -------------------------------------------------------------------------------------------------------

  const LOG_EPSILON = 1e-7; // of the NAC family
  const POWER_EPSILON = 2 ** -23; // of the NPU and the NMRU
  const LARGEST = Math.exp(20); // of the iNALU's product

  const dot = (w, x) => add(...x.map((a, i) => mul(w[i], a)));
  const switched = (w, a) => add(mul(w, a), sub(1, w)); // a where w is 1, 1 where it is 0
  const logProduct = (w, x) => mul(...x.map((a, i) => pow(guarded(abs(a), LOG_EPSILON), w[i])));
  const subscript = (i) => "₁₂₃₄"[i];

  function powers(x, gates) {
    return {
      size: x.map((a, i) => named(`r${subscript(i)}`, switched(gates[i], guarded(abs(a), POWER_EPSILON)))),
      turn: x.map((a, i) => named(`k${subscript(i)}`, mul(gates[i], negative(a)))),
    };
  }

  const signed = { add: [1, 1], sub: [1, -1], mul: [1, 1], div: [1, -1] };

  // write: the expression of values w of the weights, inputs x and noise n; reads: what weights on the grid compute,
  // as coefficients of a sum or exponents of a product; perfect: values that compute an operation (null: any value).
  const UNITS = {
    NAC: {
      label: "NAC",
      operations: ["add", "sub"],
      write: (w, x) => dot(w.W, x),
      reads: (v) => ({ sum: v.W }),
      perfect: (operation) => ({ W: signed[operation] }),
    },
    NAU: {
      label: "NAU",
      operations: ["add", "sub"],
      write: (w, x) => dot(w.W, x),
      reads: (v) => ({ sum: v.W }),
      perfect: (operation) => ({ W: signed[operation] }),
    },
    NMU: {
      label: "NMU",
      operations: ["mul"],
      write: (w, x) => mul(...x.map((a, i) => switched(w.W[i], a))),
      reads: (v) => ({ product: v.W }),
      perfect: () => ({ W: [1, 1] }),
    },
    SNMU: {
      label: "sNMU",
      operations: ["mul"],
      noise: true,
      write: (w, x, n, training) =>
        training
          ? div(
              mul(...x.map((a, i) => switched(w.W[i], mul(n[i], a)))),
              mul(...x.map((_, i) => switched(w.W[i], n[i]))),
            )
          : mul(...x.map((a, i) => switched(w.W[i], a))),
      reads: (v) => ({ product: v.W }),
      perfect: () => ({ W: [1, 1] }),
    },
    MulNAC: {
      label: "NAC•",
      operations: ["mul", "div"],
      write: (w, x) => logProduct(w.W, x),
      reads: (v) => ({ product: v.W, magnitudes: true }),
      perfect: (operation) => ({ W: signed[operation] }),
    },
    NALU: {
      label: "NALU",
      operations: ["add", "sub", "mul", "div"],
      write: (w, x) => {
        const gate = named("g", sigmoid(dot(w.G, x)));
        const sum = named("s", dot(w.W, x));
        const product = named("m", logProduct(w.W, x));
        return add(mul(gate, sum), mul(sub(1, gate), product));
      },
      reads: () => null, // the gate has no grid
      perfect: (operation) => ({ W: signed[operation], G: [null, null] }),
    },
    INALU: {
      label: "iNALU",
      operations: ["add", "sub", "mul", "div"],
      write: (w, x) => {
        const gate = w.g[0];
        const sum = named("s", dot(w["add.W"], x));
        const v = w["multiply.W"];
        const size = mul(...x.map((a, i) => pow(clamp(abs(a), LOG_EPSILON, Infinity), v[i])));
        const signs = x.map((a, i) => switched(abs(v[i]), sign(a)));
        const product = named("m", mul(clamp(size, 0, LARGEST), ...signs));
        return add(mul(gate, sum), mul(sub(1, gate), product));
      },
      reads: (v) => (v.g[0] === 1 ? { sum: v["add.W"] } : v.g[0] === 0 ? { product: v["multiply.W"] } : null),
      perfect: (operation) =>
        operation === "add" || operation === "sub"
          ? { g: [1], "add.W": signed[operation], "multiply.W": [null, null] }
          : { g: [0], "add.W": [null, null], "multiply.W": signed[operation] },
    },
    RealNPU: {
      label: "Real NPU",
      operations: ["mul", "div"],
      write: (w, x) => {
        const { size, turn } = powers(x, w.g);
        return mul(...size.map((r, i) => pow(r, w.W[i])), cos(mul(Math.PI, dot(w.W, turn))));
      },
      reads: (v) => ({ product: v.W.map((a, i) => a * v.g[i]) }),
      perfect: (operation) => ({ W: signed[operation], g: [1, 1] }),
    },
    NPU: {
      label: "NPU",
      operations: ["mul", "div"],
      write: (w, x) => {
        const { size, turn } = powers(x, w.g);
        const damping = exp(mul(-Math.PI, dot(w.W_im, turn)));
        const angle = add(mul(Math.PI, dot(w.W, turn)), dot(w.W_im, size.map(log)));
        return mul(...size.map((r, i) => pow(r, w.W[i])), damping, cos(angle));
      },
      reads: (v) => ({ product: v.W.map((a, i) => a * v.g[i]) }),
      perfect: (operation) => ({ W: signed[operation], W_im: [0, 0], g: [1, 1] }),
    },
    NRU: {
      label: "NRU",
      operations: ["mul", "div"],
      write: (w, x, n, training) => {
        const on = (v) => (training ? pow(tanh(mul(1000, v)), 2) : abs(v));
        return mul(...x.map((a, i) => switched(on(w.W[i]), mul(side(a), pow(abs(a), w.W[i])))));
      },
      reads: (v) => ({ product: v.W }),
      perfect: (operation) => ({ W: signed[operation] }),
    },
    NMRU: {
      label: "NMRU",
      operations: ["mul", "div"],
      write: (w, x, n, training) => {
        const u = [...x, ...x.map((a) => div(1, training ? guarded(a, POWER_EPSILON) : a))];
        const factors = u.map((a, i) => {
          const factor = switched(w.W[i], abs(a));
          return training ? factor : ifUsed(w.W[i], factor);
        });
        return mul(...factors, cos(mul(Math.PI, dot(w.W, u.map(negative)))));
      },
      reads: (v) => ({ product: [v.W[0] - v.W[2], v.W[1] - v.W[3]] }),
      perfect: (operation) => ({ W: operation === "mul" ? [1, 1, 0, 0] : [1, 0, 0, 1] }),
    },
  };

  const LINKS = {
    identity: (raw) => raw,
    logistic: (raw) => sigmoid(raw),
    "tanh-sigmoid": (raw, gate) => mul(tanh(raw), sigmoid(gate)),
  };
  const INVERSE = { identity: (v) => [v], logistic: (v) => [40 * (2 * v - 1)], "tanh-sigmoid": (v) => [40 * v, 40] };

  /** The value of a weight as a function of the two numbers behind it. */
  function weightMap(link) {
    const raw = [0, 1].map((index) => ({ kind: "parameter", index, args: [] }));
    const compiled = compile(LINKS[link](...raw), 2, 2);
    return (first, second) => compiled.alone([first, second]).value;
  }

  const gridDistance = (value, grid) => grid.map((g) => abs(sub(value, g))).reduce((a, b) => smaller(a, b));
  const mean = (terms) => mul(1 / terms.length, add(...terms));
  const PULLS = {
    to_grid: (weight) => mean(weight.free.map((value) => gridDistance(value, weight.grid))),
    l1: (weight) => add(...weight.raw.flat().map(abs)),
    saturate: (weight) => add(...weight.raw.map((raw) => mean(raw.map((r) => clamp(sub(20, abs(r)), 0, Infinity))))),
  };

  const ARRIVED = 1e-3; // a weight this near its perfect value can no longer be told from it in a picture

  const VALUE_LETTERS = { "add.W": "w", "multiply.W": "v", W_im: "v", G: "G" };

  /** A unit of two inputs from its declaration, which `build.py` takes from the library. */
  function unit(name, facts) {
    const definition = UNITS[name];
    const parameters = [];
    const weights = facts.weights.map((declared) => {
      const raw = declared.parameters.map((parameter) =>
        Array.from({ length: declared.size }, (_, i) => {
          const index = parameters.length;
          const short = declared.letters[declared.parameters.indexOf(parameter)];
          const label = short + (declared.size > 1 ? subscript(i) : "");
          parameters.push({ index, label, weight: declared, element: i });
          return { kind: "parameter", index, label, args: [] };
        }),
      );
      const free = raw[0].map((_, i) => LINKS[declared.link](...raw.map((r) => r[i])));
      const bounded = declared.box && declared.keep !== "project";
      const kept = bounded ? free.map((value) => clamp(value, ...declared.box)) : free;
      const letter = VALUE_LETTERS[declared.name] ?? declared.name.toLowerCase();
      const label = (i) => letter + (declared.size > 1 ? subscript(i) : "");
      const values = declared.link === "identity" ? kept : kept.map((value, i) => named(label(i), value));
      return { ...declared, raw, free, values, labels: values.map((_, i) => label(i)) };
    });
    const count = parameters.length;
    const x = ["a", "b"].map((label, index) => ({ kind: "input", index, label, args: [] }));
    const n = [0, 1].map((index) => ({ kind: "noise", index, label: `n${subscript(index)}`, args: [] }));
    const by = Object.fromEntries(weights.map((weight) => [weight.name, weight.values]));
    const expression = definition.write(by, x, n, false);
    const trained = definition.write(by, x, n, true);
    const penalties = {};
    for (const pull of Object.keys(facts.recipe.penalties)) {
      const terms = weights.filter((w) => w.pulls.includes(pull) && (pull !== "to_grid" || w.grid));
      if (terms.length) penalties[pull] = compile(add(0, ...terms.map((w) => PULLS[pull](w))), 2, count);
    }
    const elements = weights.map((weight) => weight.values.map((value) => compile(value, 2, count)));
    const values = (p) =>
      Object.fromEntries(weights.map((weight, k) => [weight.name, elements[k].map((e) => e.alone(p).value)]));
    const nearest = (value, grid) => grid.reduce((a, b) => (Math.abs(value - b) < Math.abs(value - a) ? b : a));

    return {
      name,
      label: definition.label,
      operations: definition.operations,
      noisy: Boolean(definition.noise),
      facts,
      weights,
      parameters,
      expression,
      trained,
      recipe: facts.recipe,
      penalties,
      inference: compile(expression, 2, count),
      training: compile(trained, 2, count),
      perfect: definition.perfect,
      /** The values of all weights, by name. */
      values,
      /** The largest distance of a weight to its grid; infinite if a weight has none. */
      distance: (p) => {
        const now = values(p);
        const far = (w) => (w.grid ? Math.max(...now[w.name].map((v) => Math.abs(v - nearest(v, w.grid)))) : Infinity);
        return Math.max(...weights.map(far));
      },
      /** The largest distance of a weight to the value that computes an operation. */
      gap: (operation, p) => {
        const now = values(p);
        const aim = Object.entries(definition.perfect(operation));
        return Math.max(...aim.flatMap(([w, row]) => row.map((v, i) => (v === null ? 0 : Math.abs(now[w][i] - v)))));
      },
      /** Whether it computes an operation, also where it never trained: `shown` is what the surface shows. */
      solves(operation, p, shown) {
        if (!(this.gap(operation, p) < ARRIVED)) return false;
        const at = [0.05, 0.35, 0.65, 0.95].map((share) => shown[0] + share * (shown[1] - shown[0]));
        const pairs = at.flatMap((a) => at.map((b) => [a, b]));
        const targets = pairs.map((pair) => OPERATIONS[operation](...pair));
        const largest = Math.max(...targets.map(Math.abs));
        return pairs.every((x, i) => Math.abs(this.inference.output(p, x) - targets[i]) < 10 * ARRIVED * largest);
      },
      /** What the unit computes once every weight is put on its grid, or null if it has no grid. */
      reading: (p) => {
        const now = values(p);
        for (const weight of weights) {
          if (!weight.grid) return null;
          now[weight.name] = now[weight.name].map((v) => nearest(v, weight.grid));
        }
        return definition.reads(now);
      },
      /** Raw parameters that compute an operation exactly; where any value does, those of `p` stay. */
      solution: (operation, p) => {
        const aim = definition.perfect(operation);
        const result = Float64Array.from(p);
        for (const weight of weights) {
          aim[weight.name].forEach((value, i) => {
            if (value === null) return;
            INVERSE[weight.link](value).forEach((raw, part) => (result[weight.raw[part][i].index] = raw));
          });
        }
        return result;
      },
      /** Put every weight back into its box. */
      project: (p) => {
        for (const weight of weights) {
          if (!weight.box || (weight.keep !== "project" && weight.keep !== "both")) continue;
          for (const { index } of weight.raw.flat()) p[index] = Math.min(Math.max(p[index], weight.box[0]), weight.box[1]);
        }
        return p;
      },
    };
  }

  // -- data --------------------------------------------------------------------------------------------------------

  const OPERATIONS = {
    add: (a, b) => a + b,
    sub: (a, b) => a - b,
    mul: (a, b) => a * b,
    div: (a, b) => a / b,
  };

  /** Uniforms on [0, 1) from a seed (mulberry32). */
  function random(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  /** `count` samples of two inputs from one range, with targets and, for units that want it, noise. */
  function sample(draw, range, operation, count, noise) {
    const x = new Float64Array(2 * count);
    const target = new Float64Array(count);
    const n = noise ? new Float64Array(2 * count) : null;
    for (let s = 0; s < count; s++) {
      for (const i of [0, 1]) {
        x[2 * s + i] = range[0] + (range[1] - range[0]) * draw() || 1e-7; // an exact zero has no reciprocal
        if (n) n[2 * s + i] = noise[0] + (noise[1] - noise[0]) * draw();
      }
      target[s] = OPERATIONS[operation](x[2 * s], x[2 * s + 1]);
    }
    return { x, target, noise: n };
  }

  // -- training ----------------------------------------------------------------------------------------------------

  const SCHEDULES = {
    Ramp: (s, step) => s.to * Math.min(Math.max((step - s.start) / (s.end - s.start), 0), 1),
    Staircase: (s, step) => Math.min(s.first * 10 ** Math.floor(step / s.every), s.last),
    Late: (s, step, error) => (step > s.after && error < s.error ? s.strength : 0),
    Constant: (s) => s.value,
  };

  /** Adam as the unit's paper uses it: scheduled penalties, clipping, projection after each step. */
  function adam(unit, start) {
    const count = unit.parameters.length;
    const { rate, clip, penalties } = unit.recipe;
    const p = Float64Array.from(start);
    const first = new Float64Array(count);
    const second = new Float64Array(count);
    const state = { p, step: 0, updates: 0, error: Infinity };

    /** The gradient of error and penalties at the current step, before clipping. */
    state.gradient = (batch) => {
      const { error, gradient } = unit.training.slope(p, batch.x, batch.target, batch.noise);
      for (const [name, schedule] of Object.entries(penalties)) {
        const strength = SCHEDULES[schedule.kind](schedule, state.step, state.error);
        if (!strength || !unit.penalties[name]) continue;
        const pull = unit.penalties[name].alone(p).gradient;
        for (let i = 0; i < count; i++) gradient[i] += strength * pull[i];
      }
      return { error, gradient };
    };

    state.advance = (batch) => {
      const { error, gradient } = state.gradient(batch);
      if (clip.norm !== null) {
        const factor = Math.min(clip.norm / (Math.hypot(...gradient) + 1e-6), 1);
        for (let i = 0; i < count; i++) gradient[i] *= factor;
      }
      state.updates++;
      const [keep1, keep2] = [1 - 0.9 ** state.updates, 1 - 0.999 ** state.updates];
      for (let i = 0; i < count; i++) {
        let g = gradient[i];
        if (clip.value !== null) g = Math.min(Math.max(g, -clip.value), clip.value);
        first[i] = 0.9 * first[i] + 0.1 * g;
        second[i] = 0.999 * second[i] + 0.001 * g * g;
        p[i] -= ((rate / keep1) * first[i]) / (Math.sqrt(second[i]) / Math.sqrt(keep2) + 1e-8);
      }
      unit.project(p);
      state.step++;
      state.error = error;
      return error;
    };
    return state;
  }

  /** The training data of one seed: a function that draws the next batch. */
  function batches(unit, range, operation, seed) {
    const draw = random(1000 + seed);
    return () => sample(draw, range, operation, unit.recipe.batch, unit.facts.noise);
  }

  return { unit, weightMap, UNITS, OPERATIONS, random, sample, batches, adam, varies, learns, evaluate, ARRIVED };
})();

if (typeof module !== "undefined") module.exports = Engine;
