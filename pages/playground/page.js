// The page: what is chosen, what is dragged, what trains. Numbers come from Engine, pictures from Pictures.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const DATA = JSON.parse($("data").textContent);
  const FINE = 101; // points per side of the landscape at rest
  const COARSE = 41; // and while something moves
  const SEEN = 48; // samples behind every point of the landscape
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

  const now = {
    unit: null, // from Engine.unit
    operation: "add",
    range: "U[1,2)",
    story: null,
    seed: 0, // which recorded start
    byHand: false, // whether the reader has moved the weights away from it
    p: null, // raw parameters
    inputs: [1.5, 1.8],
    axes: [0, 1], // which parameters the landscape shows
    view: null,
    data: null, // samples behind error, gradient and landscape
    noiseSeed: 1,
    adam: null, // { points: [{ step, p, error }], outcome }
    rule: null,
    running: null, // who trains: null, "adam" or "rule"
    map: null,
    found: [],
    difference: false,
    turn: 0.7,
    tilt: 0.55,
  };
  const span = () => DATA.ranges[now.range];
  const digits = Formula.digits;

  // -- choosing ----------------------------------------------------------------------------------------------------

  function choose(change) {
    stop();
    const before = now.unit?.name;
    const name = change.unit ?? before;
    if (name !== before) now.unit = Engine.unit(name, DATA.units[name]);
    Object.assign(now, { operation: change.operation ?? now.operation, range: change.range ?? now.range });
    if (!now.unit.operations.includes(now.operation)) now.operation = now.unit.operations[0];
    now.seed = change.seed ?? now.seed;
    now.story = change.id ?? null;
    if (now.story) history.replaceState(null, "", `#story=${now.story}`); // a link to share
    toStart();
    now.axes = change.axes ? [...change.axes] : usual();
    const { train } = span();
    now.inputs = [0.3, 0.7].map((share) => round(train[0] + share * (train[1] - train[0])));
    forget();
    drawSamples();
    buildChoices();
    buildWeights();
    buildInputs();
    refresh();
  }

  /** Back to the recorded start, so that Adam and the rule begin at the same point. */
  function toStart() {
    now.p = Float64Array.from(DATA.units[now.unit.name].starts[now.seed]);
    now.byHand = false;
  }

  /** The two parameters to look at first: those whose weights should become 1 or −1. */
  function usual() {
    const aim = now.unit.perfect(now.operation);
    const wanted = now.unit.weights.flatMap((w) => w.raw[0].filter((_, i) => Math.abs(aim[w.name][i]) === 1));
    return wanted.slice(0, 2).map((raw) => raw.index);
  }

  function forget() {
    now.adam = now.rule = null;
    now.view = null;
  }

  function drawSamples() {
    const draw = Engine.random(12345);
    now.data = Engine.sample(draw, span().train, now.operation, SEEN, null);
    if (now.unit.noisy) {
      const [low, high] = now.unit.facts.noise;
      const noise = Engine.random(now.noiseSeed);
      now.data.noise = Float64Array.from({ length: 2 * SEEN }, () => low + (high - low) * noise());
    }
  }

  const round = (v) => +v.toPrecision(3);

  // -- what follows from the weights -------------------------------------------------------------------------------

  const error = (p) => now.unit.training.error(p, now.data.x, now.data.target, now.data.noise);

  /** The largest distance of a weight to the value it should have. */
  const missing = (p) => now.unit.gap(now.operation, p);

  const solved = (p) => now.unit.solves(now.operation, p, span().shown);

  function viewOf(index) {
    const { weight } = now.unit.parameters[index];
    if (weight.link !== "identity") return [-10, 10];
    if (!weight.box) return weight.grid ? [-2, 2] : [-5, 5];
    const margin = 0.06 * (weight.box[1] - weight.box[0]);
    return [weight.box[0] - margin, weight.box[1] + margin];
  }

  /** The part of weight space on the map; it grows when training leaves it. */
  function fitView() {
    const [first, second] = now.axes;
    now.view ??= { across: viewOf(first), up: viewOf(second) };
    let grown = false;
    for (const [key, index] of [["across", first], ["up", second]]) {
      const v = now.p[index];
      const [low, high] = now.view[key];
      if (now.unit.parameters[index].weight.link !== "identity" || !Number.isFinite(v) || Math.abs(v) > 60) continue;
      if (v >= low && v <= high) continue;
      const middle = (low + high) / 2;
      const reach = Math.max(Math.abs(v - middle) * 1.25, (high - low) / 2);
      now.view[key] = [middle - reach, middle + reach];
      grown = true;
    }
    return grown;
  }

  // -- showing -----------------------------------------------------------------------------------------------------

  let fineTimer = 0;
  let others = ""; // the weights that are not on the map, for which it was drawn

  /** Show the current state. The map is drawn anew when it must be: coarse at once, fine when things are at rest. */
  function refresh({ remap = true } = {}) {
    const grown = fitView();
    const rest = Array.from(now.p).filter((_, i) => !now.axes.includes(i)).join();
    if (remap || grown || rest !== others || !now.map) {
      others = rest;
      mapAt(now.running ? COARSE : COARSE + 10);
      clearTimeout(fineTimer);
      fineTimer = setTimeout(settle, 90);
    }
    showFormula();
    showWeights();
    drawMap();
    drawHill();
    drawSurface();
    drawCharts();
    showStory();
  }

  /** Everything at full resolution, once nothing moves. */
  function settle() {
    if (now.running) return;
    mapAt(FINE);
    drawMap();
  }

  function mapAt(count) {
    const p = Float64Array.from(now.p);
    const [first, second] = now.axes;
    now.map = Pictures.relief((a, b) => {
      p[first] = a;
      p[second] = b;
      return error(p);
    }, boxed(), count);
    const closed = { across: walled(first), up: walled(second) };
    now.found = now.running ? now.found : Pictures.traps(now.map, solutionOnMap(), closed);
  }

  /** Whether a parameter is put back into its box after each step. */
  function walled(index) {
    const { weight } = now.unit.parameters[index];
    return Boolean(weight.box) && weight.keep !== "clamp";
  }

  /** The map of weights that are kept in a box ends at the box: nothing beyond it can be reached. */
  function boxed() {
    const end = (index, view) => (walled(index) ? now.unit.parameters[index].weight.box : view);
    return { across: end(now.axes[0], now.view.across), up: end(now.axes[1], now.view.up) };
  }

  function solutionOnMap() {
    const aim = now.unit.solution(now.operation, now.p.map(() => NaN));
    const place = now.axes.map((i) => aim[i]);
    return place.some(Number.isNaN) ? null : place;
  }

  function showFormula() {
    const [a, b] = now.inputs;
    $("formula").innerHTML = Formula.lines(now.unit.expression, now.p).join("");
    const y = now.unit.inference.output(now.p, now.inputs);
    const t = Engine.OPERATIONS[now.operation](a, b);
    $("result").innerHTML = `<b>${digits(shorter(y))}</b><small>for a = ${digits(a)}, b = ${digits(b)}</small>
      <small>should be ${digits(shorter(t))}</small>`;
    const found = now.unit.reading(now.p);
    const reading = $("reading");
    if (!found) {
      reading.textContent = "This unit never becomes an exact formula: its gate has no whole numbers to settle on.";
      return;
    }
    const aim = now.unit.reading(now.unit.solution(now.operation, now.p));
    const right = JSON.stringify(found) === JSON.stringify(aim);
    const exact = now.unit.distance(now.p) < 1e-5;
    const badge = right ? `<span class="badge good">${exact ? "exact" : "the target"}</span>` : '<span class="badge bad">not the target</span>';
    reading.innerHTML = `${exact ? "All weights are whole:" : "With every weight rounded to its grid:"} ${Formula.reading(found)} ${badge}`;
  }

  const shorter = (v) => (Number.isInteger(v) || !Number.isFinite(v) ? v : +v.toPrecision(4));

  function showWeights() {
    const values = now.unit.values(now.p);
    const aim = now.unit.perfect(now.operation);
    const { gradient } = now.unit.training.slope(now.p, now.data.x, now.data.target, now.data.noise);
    for (const node of document.querySelectorAll("[data-value]")) {
      const { weight, element } = node.dataset;
      const value = values[weight][element];
      const wanted = aim[weight][element];
      node.querySelector(".now").textContent = digits(+value.toFixed(4));
      const label = node.querySelector(".aim");
      const met = wanted !== null && Math.abs(value - wanted) < Engine.ARRIVED;
      label.textContent = wanted === null ? "any value" : `${met ? "✓ " : ""}perfect ${digits(wanted)}`;
      label.classList.toggle("met", met);
    }
    for (const slider of document.querySelectorAll("[data-parameter]")) {
      const index = +slider.dataset.parameter;
      if (document.activeElement !== slider || now.running) slider.value = now.p[index];
      slider.setAttribute("aria-valuetext", digits(+now.p[index].toFixed(3)));
      const slope = gradient[index];
      const arrow = slope > 1e-12 ? "← " : slope < -1e-12 ? "→ " : "";
      slider.closest(".knob").querySelector(".slope").textContent = arrow
        ? arrow + digits(+Math.abs(slope).toPrecision(2))
        : Number.isNaN(slope) ? "no slope" : "flat";
    }
  }

  function drawMap() {
    const [first, second] = now.axes;
    const { gradient } = now.unit.training.slope(now.p, now.data.x, now.data.target, now.data.noise);
    const pick = (points) => points.map(({ p }) => [p[first], p[second]]);
    const { view } = now.map;
    const scale = [view.across[1] - view.across[0], view.up[1] - view.up[0]];
    Pictures.landscape($("map"), {
      map: now.map,
      names: now.axes.map((i) => now.unit.parameters[i].label),
      point: [now.p[first], now.p[second]],
      downhill: [-gradient[first] / scale[0], -gradient[second] / scale[1]],
      solution: solutionOnMap(),
      found: now.found,
      adam: now.adam ? pick(now.adam.points) : [],
      rule: now.rule && now.rule.unit === now.unit.name ? pick(now.rule.points) : [],
    });
    const names = now.axes.map((i) => now.unit.parameters[i].label).join(" and ");
    const still = now.unit.parameters.length > 2 ? ", the other weights staying as they are" : "";
    const rest = still + (now.unit.noisy ? ", under the noise drawn last" : "");
    $("map-caption").textContent =
      `How wrong the unit is on its training data for every choice of ${names}${rest}: dark is good, ★ is where they should end. ` +
      "Drag the point, or focus the map and use the arrow keys.";
  }

  const SQUASHED = "tanh-sigmoid";
  const squashed = Engine.weightMap(SQUASHED);

  function drawHill() {
    const linked = now.unit.weights.filter((weight) => weight.link === SQUASHED);
    $("hill-figure").hidden = !linked.length;
    if (!linked.length) return;
    const dots = linked.flatMap((weight) =>
      weight.labels.map((label, i) => ({ label, place: weight.raw.map((raw) => now.p[raw[i].index]) })),
    );
    Pictures.hill($("hill"), { value: squashed, view: viewOf(linked[0].raw[0][0].index), names: linked[0].letters, dots });
  }

  function drawSurface() {
    const [a, b] = now.inputs;
    const target = Engine.OPERATIONS[now.operation];
    const pair = [0, 0];
    const output = (first, second) => {
      pair[0] = first;
      pair[1] = second;
      return now.unit.inference.output(now.p, pair);
    };
    Pictures.surface($("surface"), {
      ...span(),
      output,
      target,
      turn: now.turn,
      tilt: now.tilt,
      point: { a, b, y: output(a, b), t: target(a, b) },
      difference: now.difference,
    });
    $("surface-caption").textContent = now.difference
      ? "Unit minus target over both inputs: a unit that extrapolates is flat here, far beyond the outlined square it was trained on."
      : "What the unit answers (coloured) and what it should answer (net), in the outlined square it was trained on and beyond it. Drag to turn.";
  }

  function drawCharts() {
    const adam = now.adam?.points ?? [];
    const rule = now.rule?.points ?? [];
    const last = Math.max(10, adam.at(-1)?.step ?? 0, rule.at(-1)?.step ?? 0);
    const logs = (points) => points.map(({ step, error: e }) => [step, Math.log10(Math.max(e, 1e-12))]);
    const both = [...logs(adam), ...logs(rule)].map(([, v]) => v).filter(Number.isFinite);
    const top = both.length ? Math.ceil(Math.max(...both) + 0.2) : 1;
    Pictures.chart($("errors"), {
      series: [
        { points: logs(adam), who: "adam", title: adam.length > 1 ? "Adam" : "" },
        { points: logs(rule), who: "rule", title: rule.length > 1 ? "rule" : "" },
      ],
      span: [-12, Math.max(top, -1)],
      last,
      logarithmic: true,
      name: "error",
    });
    const same = now.rule && now.rule.unit === now.unit.name ? rule : [];
    const lines = (points, who) =>
      now.axes.map((index, k) => ({
        points: points.map(({ step, p }) => [step, p[index]]),
        who,
        dash: k === 1,
        title: who === "adam" && points.length > 1 ? now.unit.parameters[index].label : "",
      }));
    const goal = solutionOnMap() ?? [];
    const bounds = [now.view.across, now.view.up];
    Pictures.chart($("walks"), {
      series: [...lines(adam, "adam"), ...lines(same, "rule")],
      span: [Math.min(...bounds.map((v) => v[0])), Math.max(...bounds.map((v) => v[1]))],
      last,
      aims: [...new Set(goal)].filter((v) => Math.abs(v) < 20),
      name: `weights ${now.axes.map((i) => now.unit.parameters[i].label).join(" (solid), ")} (dotted)`,
    });
  }

  function showStory() {
    const story = STORIES.find((s) => s.id === now.story);
    const box = $("story");
    const outcomes = [now.adam, now.rule].filter((r) => r?.outcome).map((r) => `<span class="${r.who}">${r.outcome}</span>`);
    const html = story
      ? `<h2>${story.title}</h2><p>${story.text}</p><p class="source">${story.source}</p>`
      : `<h2>${now.unit.label} learns ${OPERATION_NAMES[now.operation]} on ${interval(now.range)}</h2>
         <p>Your own experiment: drag the weights until the formula is the target, or press one of the two buttons and compare.</p>`;
    const all = `${html}<p class="outcome">${outcomes.join("")}</p>`;
    if (box.dataset.shown !== all) {
      box.dataset.shown = all;
      box.innerHTML = all;
    }
  }

  const interval = (label) => label.replace("U", "").replace(/-/g, "−").replace(",", ", ");

  // -- building the controls ---------------------------------------------------------------------------------------

  function options(select, entries, chosen) {
    select.replaceChildren(...entries.map(([value, text]) => new Option(text, value, false, `${value}` === `${chosen}`)));
  }

  function buildChoices() {
    const { unit } = now;
    options($("unit"), Object.keys(DATA.units).map((name) => [name, Engine.UNITS[name].label]), unit.name);
    options($("operation"), unit.operations.map((o) => [o, OPERATION_NAMES[o]]), now.operation);
    options($("range"), Object.keys(DATA.ranges).map((r) => [r, interval(r)]), now.range);
    const letters = unit.parameters.map(({ index, label }) => [index, label]);
    options($("across"), letters, now.axes[0]);
    options($("up"), letters, now.axes[1]);
    $("about").textContent = `${ABOUT[unit.name]} (${DATA.units[unit.name].paper.replace(/, (?=[^,]*$)/, ", ")}.)`;
    $("noise").hidden = !unit.noisy;
    const ruleUnit = ruleFor();
    $("rule").disabled = !ruleUnit;
    $("rule").textContent = ruleUnit && ruleUnit !== unit.name ? `◆ The rule, on an ${Engine.UNITS[ruleUnit].label}` : "◆ Let the rule walk";
    $("rule").title = ruleUnit ? "" : "The rule needs a unit that is a sum or a product; this one has a gate.";
    for (const button of $("stories").children) button.setAttribute("aria-pressed", button.dataset.id === now.story);
    const training = unit.trained === unit.expression ? [] : Formula.lines(unit.trained);
    const same = JSON.stringify(training) === JSON.stringify(Formula.lines(unit.expression));
    $("letters").innerHTML =
      Formula.lines(unit.expression).join("") + (training.length && !same ? `<p>In training:</p>${training.join("")}` : "");
  }

  /** The unit the rule can train here: this one, or the story's substitute for a gated one. */
  function ruleFor() {
    const key = (unit) => `${unit} ${now.operation} ${now.range}`;
    const substitute = { add: "NAU", sub: "NAU", mul: "NMU", div: "NRU" }[now.operation];
    return [now.unit.name, substitute].find((unit) => DATA.paths[key(unit)]);
  }

  function buildWeights() {
    const solution = now.unit.solution(now.operation, now.p.map(() => NaN));
    const blocks = now.unit.weights.flatMap((weight) =>
      weight.values.map((_, i) => {
        const block = document.createElement("div");
        block.className = "element";
        const linked = weight.link !== "identity";
        const knobs = weight.raw.map((raw) => {
          const { index, label } = raw[i];
          const [low, high] = walled(index) ? weight.box : viewOf(index);
          const aim = solution[index];
          const share = (Math.min(Math.max(aim, low), high) - low) / (high - low);
          // a range's thumb travels half its width less at both ends
          const tick = Number.isNaN(aim) ? "" : `<span class="tick" style="left: calc(8px + ${share} * (100% - 16px))"></span>`;
          const letter = linked ? `<span aria-hidden="true">${Formula.math(Formula.letter(label))}</span>` : "";
          return `<div class="knob${linked ? "" : " alone"}">${letter}
            <span class="track">${tick}<input type="range" data-parameter="${index}" min="${low}" max="${high}"
              step="${(high - low) / 400}" aria-label="weight ${label}"></span>
            <span class="slope" title="slope of the error; the arrow points downhill"></span></div>`;
        });
        const name = Formula.math(Formula.letter(weight.labels[i]));
        block.innerHTML = `<div class="value" data-value data-weight="${weight.name}" data-element="${i}">
          <span>${linked ? "weight " : ""}${name} = <span class="now"></span></span><span class="aim"></span></div>${knobs.join("")}`;
        return block;
      }),
    );
    $("weights").replaceChildren(...blocks);
  }

  function buildInputs() {
    const [low, high] = span().shown;
    $("inputs").innerHTML = ["a", "b"]
      .map(
        (name, i) => `<div class="knob"><span aria-hidden="true">${Formula.math(`<mi class="input">${name}</mi>`)}</span>
          <input type="range" data-input="${i}" min="${low}" max="${high}" step="${(high - low) / 200}"
            value="${now.inputs[i]}" aria-label="input ${name}"><span class="slope" id="input-${name}">${digits(now.inputs[i])}</span></div>`,
      )
      .join("");
  }

  function buildStories() {
    $("stories").replaceChildren(
      ...STORIES.map((story) => {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.id = story.id;
        button.innerHTML = `<b>${story.title}</b><span>${story.brief}</span>`;
        button.addEventListener("click", () => choose(story));
        return button;
      }),
    );
  }

  // -- training ----------------------------------------------------------------------------------------------------

  let ticket = 0; // a stopped training finds that its ticket has expired

  function stop() {
    ticket++;
    now.running = null;
    $("train").textContent = "▶ Train with Adam";
    $("status").textContent = "";
  }

  function shortfall(p) {
    const gap = missing(p);
    return gap < Engine.ARRIVED
      ? `its weights are right and its gate is not, error ${digits(+error(p).toPrecision(2))}`
      : `its worst weight off by ${digits(+gap.toPrecision(2))}`;
  }

  const note = (step, p) => ({ step, p: Float64Array.from(p), error: error(p) });

  function trainWithAdam() {
    if (now.running === "adam") {
      stop();
      refresh();
      return;
    }
    stop();
    if (!now.byHand) toStart();
    const mine = ++ticket;
    const state = Engine.adam(now.unit, now.p);
    const next = Engine.batches(now.unit, span().train, now.operation, now.seed);
    const { recipe } = now.unit;
    now.running = "adam";
    now.adam = { who: "adam", points: [note(0, now.p)] };
    $("train").textContent = "❚❚ Stop";

    (function tick() {
      if (mine !== ticket) return;
      // Slowly at first, then ever faster: each frame makes three percent of the steps made so far.
      const wanted = Math.ceil(1 + state.step * (calm ? 0.3 : 0.03));
      const until = performance.now() + 24;
      let made = 0;
      while (made < wanted && state.step < recipe.steps && (made % 64 || performance.now() < until)) {
        state.advance(next());
        made++;
      }
      now.p.set(state.p);
      now.adam.points.push(note(state.step, state.p));
      if (now.unit.noisy && now.adam.points.length % 12 === 0) {
        now.noiseSeed++;
        drawSamples();
        others = "";
      }
      const broken = !state.p.every(Number.isFinite);
      const arrived = missing(state.p) < 1e-6 && solved(state.p);
      const steps = state.step.toLocaleString("en");
      $("status").textContent = `Adam, step ${steps} of ${recipe.steps.toLocaleString("en")}, error ${digits(+state.error.toPrecision(2))}`;
      if (!broken && !arrived && state.step < recipe.steps) {
        refresh({ remap: false });
        requestAnimationFrame(tick);
        return;
      }
      now.running = null;
      $("train").textContent = "▶ Train with Adam";
      now.adam.outcome = arrived || solved(state.p)
        ? `● Adam: solved after ${steps} steps of ${recipe.batch} samples`
        : broken
          ? `● Adam: broke down with infinite weights at step ${steps}`
          : `● Adam: stuck after ${steps} steps, ${shortfall(state.p)}`;
      refresh();
    })();
  }

  /** Play a recorded path of the rule: from the start in use, or from the recorded start nearest to the weights. */
  function walkWithRule() {
    const name = ruleFor();
    if (!name) return;
    stop();
    if (name !== now.unit.name) {
      const { adam } = now;
      const from = now.unit.label;
      choose({ unit: name, operation: now.operation, range: now.range, seed: now.seed, id: now.story });
      if (adam?.outcome) now.adam = { ...adam, points: [], outcome: `${adam.outcome} (${from})` };
    }
    const mine = ++ticket;
    const paths = DATA.paths[`${name} ${now.operation} ${now.range}`];
    const far = (path) => Math.hypot(...path.walk[0].map((v, i) => v - now.p[i]));
    const path = now.byHand ? paths.reduce((best, other) => (far(other) < far(best) ? other : best)) : paths[now.seed];
    const jumped = now.byHand;
    now.seed = paths.indexOf(path);
    toStart();
    const { walk } = path;
    now.running = "rule";
    now.rule = { who: "rule", unit: name, points: [] };
    let at = 0;

    (function tick() {
      if (mine !== ticket) return;
      now.p.set(walk[at]);
      now.rule.points.push(note(at, now.p));
      $("status").textContent = `The rule, step ${at}${jumped ? ", from the recorded start nearest to your weights" : ""}`;
      if (++at < walk.length) {
        refresh({ remap: false });
        setTimeout(tick, calm ? 0 : Math.max(120, 520 - 40 * walk.length));
        return;
      }
      now.running = null;
      const samples = DATA.samples === 1 ? "one sample each" : `${DATA.samples} samples each`;
      const steps = walk.length === 2 ? "1 step" : `${walk.length - 1} steps`;
      now.rule.outcome = path.solved
        ? `◆ The rule: exact after ${steps}, ${samples}`
        : `◆ The rule: not there after ${steps}, ${samples}`;
      refresh();
    })();
  }

  // -- what the reader does ----------------------------------------------------------------------------------------

  /** Weights moved by hand: training stops, its traces stay. */
  function moved() {
    if (now.running) stop();
    now.byHand = true;
    refresh({ remap: false });
  }

  let asked = false;
  function soon(action) {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      action();
    });
  }

  $("unit").addEventListener("change", (e) => choose({ unit: e.target.value }));
  $("operation").addEventListener("change", (e) => choose({ operation: e.target.value }));
  $("range").addEventListener("change", (e) => choose({ range: e.target.value }));
  for (const [id, k] of [["across", 0], ["up", 1]]) {
    $(id).addEventListener("change", (e) => {
      const chosen = +e.target.value;
      if (now.axes[1 - k] === chosen) now.axes[1 - k] = now.axes[k];
      now.axes[k] = chosen;
      now.view = null;
      $("across").value = now.axes[0];
      $("up").value = now.axes[1];
      refresh();
    });
  }
  $("weights").addEventListener("input", (e) => {
    if (now.running) stop();
    now.p[+e.target.dataset.parameter] = +e.target.value;
    soon(moved);
  });
  $("inputs").addEventListener("input", (e) => {
    const i = +e.target.dataset.input;
    now.inputs[i] = round(+e.target.value);
    $(`input-${"ab"[i]}`).textContent = digits(now.inputs[i]);
    soon(() => {
      showFormula();
      drawSurface();
    });
  });
  $("train").addEventListener("click", trainWithAdam);
  $("rule").addEventListener("click", walkWithRule);
  $("again").addEventListener("click", () => {
    stop();
    now.seed = (now.seed + 1) % DATA.units[now.unit.name].starts.length;
    toStart();
    forget();
    refresh();
  });
  $("noise").addEventListener("click", () => {
    now.noiseSeed++;
    drawSamples();
    refresh();
  });
  for (const [id, difference] of [["show-output", false], ["show-difference", true]]) {
    $(id).addEventListener("click", () => {
      now.difference = difference;
      $("show-output").setAttribute("aria-pressed", !difference);
      $("show-difference").setAttribute("aria-pressed", difference);
      drawSurface();
    });
  }

  function drag(canvas, act) {
    let last = null;
    canvas.addEventListener("pointerdown", (e) => {
      last = e;
      canvas.setPointerCapture(e.pointerId);
      act(e, e);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!last) return;
      act(e, last);
      last = e;
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (last = null));
  }

  drag($("map"), (e) => {
    const place = Pictures.unproject($("map"), now.map.view, e.offsetX, e.offsetY);
    if (now.running) stop();
    now.axes.forEach((index, k) => (now.p[index] = place[k]));
    soon(moved);
  });
  drag($("surface"), (e, last) => {
    now.turn += (e.clientX - last.clientX) * 0.01;
    now.tilt = Math.min(Math.max(now.tilt + (e.clientY - last.clientY) * 0.006, 0.15), 1.3);
    soon(drawSurface);
  });

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
  $("map").addEventListener("keydown", (e) => {
    const arrow = ARROWS[e.key];
    if (!arrow) return;
    e.preventDefault();
    const { view } = now.map;
    [view.across, view.up].forEach(([low, high], k) => {
      const index = now.axes[k];
      now.p[index] = Math.min(Math.max(now.p[index] + (arrow[k] * (high - low)) / 60, low), high);
    });
    moved();
  });
  $("surface").addEventListener("keydown", (e) => {
    const arrow = ARROWS[e.key];
    if (!arrow) return;
    e.preventDefault();
    now.turn += 0.12 * arrow[0];
    now.tilt = Math.min(Math.max(now.tilt + 0.08 * arrow[1], 0.15), 1.3);
    drawSurface();
  });

  // -- light and dark ----------------------------------------------------------------------------------------------

  const system = matchMedia("(prefers-color-scheme: dark)");
  let wanted = null; // what the reader asked for, until the page is left

  function applyTheme() {
    const dark = wanted ?? system.matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").querySelector("span").textContent = dark ? "Light" : "Dark";
    if (now.map) refresh({ remap: false });
  }
  $("theme").addEventListener("click", () => {
    wanted = !(wanted ?? system.matches);
    applyTheme();
  });
  system.addEventListener("change", applyTheme);
  new ResizeObserver(() => now.map && refresh({ remap: false })).observe(document.body);

  applyTheme();
  buildStories();
  $("samples").textContent = DATA.samples === 1 ? "one sample" : `${DATA.samples} samples`;
  const linked = STORIES.find((s) => location.hash === `#story=${s.id}`);
  choose(linked ?? STORIES.find((s) => s.id === "trap"));
})();
