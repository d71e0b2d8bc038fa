// Typesetting: an expression of the engine as MathML, with letters for its weights or with the numbers they hold now.
// Numbers are folded first, so that a unit whose weights are whole reads like the formula it has learned.
"use strict";

const Formula = (() => {
  const engine = typeof Engine === "undefined" ? require("./engine.js") : Engine;
  const number = (value) => ({ kind: "number", value, args: [] });
  const isNumber = (n, value) => n.kind === "number" && (value === undefined || n.value === value);

  // -- folding -----------------------------------------------------------------------------------------------------

  /** The expression without what a reader need not see; with weights `p` their numbers are put in. */
  function fold(n, p) {
    if (n.args.length && !engine.varies(n) && (p || !engine.learns(n))) return number(settled(engine.evaluate(n, p ?? [])));
    if (n.kind === "parameter") return p ? number(p[n.index]) : n;
    if (!n.args.length) return n;
    if (n.kind === "ifUsed" && isNumber(fold(n.args[0], p), 0)) return number(1);
    const args = n.args.map((a) => fold(a, p));
    const rule = FOLDS[n.kind];
    return rule ? rule(args, n) : { ...n, args };
  }

  /** A saturated sigmoid leaves 4e-18 behind, which is nothing to a reader. */
  const settled = (value) => (Math.abs(value) < 1e-15 ? 0 : value);

  const flat = (args, kind) => args.flatMap((a) => (a.kind === kind ? a.args : [a]));
  const FOLDS = {
    add: (args) => {
      const terms = flat(args, "add");
      const total = terms.filter((t) => isNumber(t)).reduce((sum, t) => sum + t.value, 0);
      const rest = terms.filter((t) => !isNumber(t));
      if (total !== 0 || !rest.length) {
        const minus = total > 0 ? rest.findIndex((t) => negated(t)[0]) : -1; // 1 − g reads better than −g + 1
        rest.splice(minus < 0 ? rest.length : minus, 0, number(total));
      }
      return rest.length === 1 ? rest[0] : { kind: "add", args: rest };
    },
    mul: (args) => {
      const factors = withSigns(flat(args, "mul"));
      const scale = factors.filter((f) => isNumber(f)).reduce((product, f) => product * f.value, 1);
      if (scale === 0) return number(0);
      const rest = factors.filter((f) => !isNumber(f));
      if (scale !== 1 || !rest.length) rest.unshift(number(scale));
      return rest.length === 1 ? rest[0] : { kind: "mul", args: rest };
    },
    pow: ([base, exponent]) => {
      if (isNumber(exponent, 0)) return number(1);
      return isNumber(exponent, 1) ? base : { kind: "pow", args: [base, exponent] };
    },
    cos: ([a]) => (isNumber(a) ? number(Math.cos(a.value)) : { kind: "cos", args: [a] }),
    exp: ([a]) => (isNumber(a) ? number(Math.exp(a.value)) : { kind: "exp", args: [a] }),
    named: ([a], n) => (isNumber(a) ? a : { ...n, args: [a] }),
    negative: ([a]) => ({ kind: "negative", args: [a.kind === "div" ? a.args[1] : a] }), // 1/a has the sign of a
    guarded: ([a]) => a,
    clamp: ([a]) => a,
    ifUsed: ([, factor]) => factor,
  };

  /** sign(a) |a|^1 is a, and sign(a) |a|^-1 is 1/a. */
  function withSigns(factors) {
    const result = [...factors];
    for (const one of factors.filter((f) => f.kind === "sign" || f.kind === "side")) {
      const input = one.args[0];
      const exponent = (f) => {
        if (f.kind === "abs" && f.args[0] === input) return 1;
        const power = f.kind === "pow" && f.args[0].kind === "abs" && f.args[0].args[0] === input && f.args[1];
        return power && isNumber(power) && Math.abs(power.value) === 1 ? power.value : 0;
      };
      const size = result.find((f) => exponent(f));
      if (!size) continue;
      const merged = exponent(size) === 1 ? input : { kind: "pow", args: [input, number(-1)] };
      result.splice(result.indexOf(size), 1, merged);
      result.splice(result.indexOf(one), 1);
    }
    return result;
  }

  // -- writing -----------------------------------------------------------------------------------------------------

  /** A number as a reader wants it: whole ones whole, others to three digits. */
  function digits(value) {
    if (Number.isInteger(value)) return `${value}`.replace("-", "−");
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "undefined" : value < 0 ? "−∞" : "∞";
    const size = Math.abs(value);
    const text = size < 0.001 || size >= 1e5 ? value.toExponential(1) : size < 1 ? value.toFixed(3) : value.toPrecision(4);
    return text.replace("e+", "e").replace(/-/g, "−");
  }

  const mi = (text) => `<mi>${text}</mi>`;
  const mo = (text, rest = "") => `<mo${rest}>${text}</mo>`;
  const row = (...parts) => `<mrow>${parts.join("")}</mrow>`;
  const parentheses = (inner) => row(mo("("), inner, mo(")"));
  const call = (name, inner) => row(mi(name), mo("("), inner, mo(")"));
  const letter = (name) => {
    const parts = /^(.+)([₁₂₃₄])$/.exec(name);
    return parts ? `<msub>${mi(parts[1])}<mn>${"₁₂₃₄".indexOf(parts[2]) + 1}</mn></msub>` : mi(name);
  };
  const weight = (value) =>
    Math.abs(value - Math.PI) < 1e-12 ? mi("π") : `<mn${Number.isInteger(value) ? "" : ' class="decimal"'}>${digits(value)}</mn>`;

  const WRITERS = {
    number: (n) => (n.value < 0 ? parentheses(weight(n.value)) : weight(n.value)),
    parameter: (n) => letter(n.label),
    input: (n) => `<mi class="input">${n.label}</mi>`,
    noise: (n) => letter(n.label),
    named: (n) => letter(n.name),
    add: (n) =>
      row(
        ...n.args.map((term, i) => {
          const [minus, rest] = negated(term);
          const sign = minus ? mo("−", i ? "" : ' form="prefix"') : i ? mo("+") : "";
          return sign + (rest.kind === "add" ? parentheses(write(rest)) : write(rest));
        }),
      ),
    mul: (n) => {
      const [minus, rest] = negated(n);
      if (minus) return row(mo("−", ' form="prefix"'), rest.kind === "add" ? parentheses(write(rest)) : write(rest));
      const below = n.args.filter((f) => power(f) < 0).map((f) => f.args[0]);
      const above = n.args.filter((f) => !(power(f) < 0));
      return below.length ? `<mfrac>${factors(above)}${factors(below)}</mfrac>` : factors(above);
    },
    div: (n) => `<mfrac>${write(n.args[0])}${write(n.args[1])}</mfrac>`,
    pow: (n) => {
      if (power(n) < 0) return `<mfrac><mn>1</mn>${write(n.args[0])}</mfrac>`;
      const exponent = isNumber(n.args[1]) ? weight(n.args[1].value) : write(n.args[1]);
      return raised(n.args[0], exponent);
    },
    abs: (n) => row(mo("|", ' form="prefix" stretchy="true"'), write(n.args[0]), mo("|", ' form="postfix" stretchy="true"')),
    sign: (n) => call("sgn", write(n.args[0])),
    side: (n) => call("sgn", write(n.args[0])),
    negative: (n) => row(mo("["), write(n.args[0]), mo("&lt;"), "<mn>0</mn>", mo("]")),
    exp: (n) => call("exp", write(n.args[0])),
    log: (n) => call("ln", write(n.args[0])),
    cos: (n) => call("cos", write(n.args[0])),
    tanh: (n) => call("tanh", write(n.args[0])),
    sigmoid: (n) => call("σ", write(n.args[0])),
  };

  /** A power; the subscript of a name stands below its exponent. */
  function raised(base, exponent) {
    const named = base.kind === "named" ? letter(base.name) : "";
    if (named.startsWith("<msub>")) return `<msubsup>${named.slice(6, -7)}${exponent}</msubsup>`;
    return `<msup>${tight(base)}${exponent}</msup>`;
  }

  const write = (n) => WRITERS[n.kind](n);
  const power = (f) => (f.kind === "pow" && isNumber(f.args[1], -1) ? -1 : 1);
  const tight = (n) => (n.kind === "add" || n.kind === "mul" || n.kind === "pow" ? parentheses(write(n)) : write(n));

  /** Whether a term starts with a minus, and the term without it. */
  function negated(n) {
    if (isNumber(n)) return n.value < 0 ? [true, number(-n.value)] : [false, n];
    if (n.kind !== "mul" || !isNumber(n.args[0]) || n.args[0].value >= 0) return [false, n];
    return [true, FOLDS.mul([number(-n.args[0].value), ...n.args.slice(1)])];
  }

  function factors(list) {
    if (!list.length) return "<mn>1</mn>";
    const parts = list.map((f, i) => {
      const inner = f.kind === "add" && list.length > 1 ? parentheses(write(f)) : write(f);
      const touches = i && (isNumber(list[i - 1]) || f.kind === "add");
      return (i ? mo(touches ? "&#x2062;" : "·") : "") + inner;
    });
    return row(...parts);
  }

  /** All named parts of an expression, in the order of their first use. */
  function parts(n, found = new Map()) {
    if (n.kind === "named" && !found.has(n.name)) found.set(n.name, n.args[0]);
    n.args.forEach((a) => parts(a, found));
    return found;
  }

  const math = (inner) => `<math>${inner}</math>`;
  const equation = (left, right) => `<div class="equation">${math(row(letter(left), mo("="), right))}</div>`;

  /** Lines of MathML: the output, then every named part. */
  function lines(expression, p = null) {
    const folded = fold(expression, p);
    const rest = [...parts(folded)].map(([name, inner]) => equation(name, write(inner)));
    return [equation("y", write(folded)), ...rest];
  }

  /** What a unit on its grid computes, as MathML. */
  function reading(found) {
    const inputs = ["a", "b"].map((label, index) => ({ kind: "input", index, label, args: [], varies: true }));
    const sized = found.magnitudes ? inputs.map((x) => ({ kind: "abs", args: [x] })) : inputs;
    const terms = found.sum
      ? FOLDS.add(inputs.map((x, i) => FOLDS.mul([number(found.sum[i]), x])))
      : FOLDS.mul(sized.map((x, i) => FOLDS.pow([x, number(found.product[i])])));
    return math(row(letter("y"), mo("="), write(terms)));
  }

  return { lines, reading, digits, letter, math };
})();

if (typeof module !== "undefined") module.exports = Formula;
