"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = 8; // Okabe and Ito's, safe for colour-blind readers; --c0 to --c7 in the style, for light and dark
const MARKS = ["circle", "square", "triangle", "diamond"];
const at = (id) => document.getElementById(id);

// Text from a store is only ever set as text.
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "circle", "rect", "path", "text", "title", "polyline"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return node;
}
const rate = (value) => (value === null ? "" : value >= 0.995 ? "1.00" : value.toFixed(2).replace(/^0/, ""));
const short = (value) => (value === null || value === undefined ? "-" : Math.abs(value) >= 1e4 || (value && Math.abs(value) < 1e-3) ? value.toExponential(1) : String(+value.toPrecision(4)));
// From white to green: the share is also printed, so colour is never the only sign.
const shade = (share) => `color-mix(in srgb, var(--accent) ${Math.round(share * 45)}%, var(--card))`;

const MOST_UNITS = 20; // columns of the overview that a wide window holds
const largest = data.studies.reduce((a, b) => (b.cells.length > a.cells.length ? b : a));
const state = { sort: null, falling: true, filter: "", study: largest.name };
const current = () => data.studies.find((study) => study.name === state.study);

function overview() {
  const present = (study) => study.rows.filter((row) => study.cells.some((cell) => cell.row === row));
  const counts = new Map();
  for (const row of data.studies.flatMap(present)) counts.set(row, (counts.get(row) || 0) + 1);
  const wanted = state.filter.toLowerCase().split(",").map((word) => word.trim()).filter(Boolean);
  // Where there are many, rows of one study only (the steps of an ablation) are seen in that study, or if asked for.
  const many = counts.size > MOST_UNITS && data.studies.length > 1 && !wanted.length;
  const units = [...counts.keys()].filter((row) => !many || counts.get(row) > 1);
  const value = (study, unit) => (study.totals[unit] ? study.totals[unit][0] : null);
  const shown = units.filter((unit) => !wanted.length || wanted.some((word) => unit.toLowerCase().includes(word)));
  let studies = [...data.studies];
  if (state.sort !== null) {
    const key = (study) => { const v = value(study, state.sort); return v === null ? -1 : v; };
    studies.sort((a, b) => (state.falling ? key(b) - key(a) : key(a) - key(b)));
  }
  const head = make("tr", {}, make("th", {}, "study"), ...shown.map((unit) =>
    make("th", { "aria-sort": state.sort === unit ? (state.falling ? "descending" : "ascending") : "none" },
      make("button", { type: "button", onclick: () => { state.falling = state.sort === unit ? !state.falling : true; state.sort = unit; overview(); } }, unit))));
  const body = studies.map((study) => make("tr", {}, make("td", {}, make("button", { type: "button", class: "name", onclick: () => choose(study.name) }, study.name)), ...shown.map((unit) => {
    const v = value(study, unit);
    if (v === null) return make("td", {}, "");
    const [, low, high] = study.totals[unit];
    return make("td", { style: `background:${shade(v)}` }, rate(v), make("br"), make("span", { class: "said" }, `${rate(low)}-${rate(high)}`));
  })));
  at("overview").replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
}

function choose(name) {
  state.study = name;
  at("study").value = name;
  at("detail").hidden = true;
  study();
  at("study-title").scrollIntoView({ behavior: "smooth", block: "start" });
}

// A row of a study keeps its colour and shape on the whole page.
const look = (row) => ({ colour: `var(--c${row % COLOURS})`, kind: MARKS[Math.floor(row / COLOURS) % MARKS.length] });

function mark({ kind, colour }, x, y, label, hollow = false) {
  const size = hollow ? 6 : 4;
  const shapes = {
    circle: () => make("circle", { cx: x, cy: y, r: size }),
    square: () => make("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size }),
    triangle: () => make("path", { d: `M${x} ${y - size - 1}L${x + size + 1} ${y + size}L${x - size - 1} ${y + size}z` }),
    diamond: () => make("path", { d: `M${x} ${y - size - 1}L${x + size + 1} ${y}L${x} ${y + size + 1}L${x - size - 1} ${y}z` }),
  };
  const node = shapes[kind]();
  node.setAttribute("style", hollow ? `fill:none;stroke:${colour};stroke-width:1.3` : `fill:${colour}`);
  node.classList.add("mark");
  node.append(make("title", {}, label));
  return node;
}

const PANELS = [
  { field: "success", label: "success rate", log: false },
  { field: "steps", label: "steps to solve", log: true },
  { field: "sparsity", label: "sparsity error", log: true },
];
const LEFT = 56; // room for the numbers of an axis
const HEIGHT = 120; // of a panel
const GAP = 34; // between panels, where the next one's title stands

// The ends of a panel's axis: the rate's are fixed, others are whole powers of ten.
function ends(panel, cells) {
  if (!panel.log) return [0, 1];
  const powers = cells.flatMap((cell) => cell[panel.field] || []).filter((v) => v > 0).map(Math.log10);
  if (!powers.length) return null;
  const low = Math.floor(Math.min(...powers));
  return [low, Math.max(low + 1, Math.ceil(Math.max(...powers)))];
}

// Rates at three heights; powers of ten at most five times.
function ticks(panel, [low, high]) {
  if (!panel.log) return [[0, "0"], [0.5, ".5"], [1, "1"]];
  const every = Math.ceil((high - low) / 4);
  const powers = [];
  for (let power = low; power <= high; power += every) powers.push([power, `1e${power}`]);
  return powers;
}

function figure(chosen, room) {
  const rows = chosen.rows.filter((row) => chosen.cells.some((cell) => cell.row === row));
  const columns = chosen.columns.filter((column) => chosen.cells.some((cell) => cell.column === column));
  const longest = Math.max(...columns.map((column) => column.length));
  const needed = Math.max(7 * longest + 10, 9 * rows.length + 12);
  const step = Math.max(needed, Math.min(150, (room - LEFT - 8) / columns.length));
  const width = LEFT + step * columns.length + 8;
  const panels = PANELS.map((panel) => ({ ...panel, span: ends(panel, chosen.cells) })).filter((panel) => panel.span);
  const bottom = panels.length * (HEIGHT + GAP) + 20;
  const svg = make("svg", { viewBox: `0 0 ${width} ${bottom}`, width, height: bottom, role: "img", "aria-label": chosen.title });
  columns.forEach((column, i) => {
    if (i % 2 === 0) svg.append(make("rect", { class: "band", x: LEFT + step * i, y: GAP - 8, width: step, height: bottom - GAP - 8 }));
    svg.append(make("text", { x: LEFT + step * (i + 0.5), y: bottom - 2, "text-anchor": "middle" }, column));
  });
  panels.forEach((panel, number) => {
    const top = number * (HEIGHT + GAP) + GAP;
    const [low, high] = panel.span;
    const height = (value) => top + HEIGHT - (((panel.log ? Math.log10(value) : value) - low) / (high - low)) * HEIGHT;
    svg.append(make("text", { class: "title", x: LEFT, y: top - 13 }, panel.label));
    for (const [tick, label] of ticks(panel, panel.span)) {
      const y = top + HEIGHT - ((tick - low) / (high - low)) * HEIGHT;
      svg.append(make("line", { class: "axis", x1: LEFT, x2: width - 8, y1: y, y2: y }), make("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, label));
    }
    for (const cell of chosen.cells) {
      const row = rows.indexOf(cell.row);
      const x = LEFT + step * (columns.indexOf(cell.column) + 0.5) + (row - (rows.length - 1) / 2) * Math.min(14, (step - 12) / rows.length);
      const drawable = (value) => value !== null && value !== undefined && (!panel.log || value > 0);
      const [middle, down, up] = cell[panel.field] || [];
      if (drawable(middle)) {
        if (drawable(down) && drawable(up)) svg.append(make("line", { class: "whisker", style: `stroke:${look(row).colour}`, x1: x, x2: x, y1: height(Math.max(down, panel.log ? 10 ** low : 0)), y2: height(Math.min(up, panel.log ? 10 ** high : 1)) }));
        svg.append(mark(look(row), x, height(middle), `${cell.row}, ${cell.column}: ${panel.label} ${short(middle)}`));
      }
      if (panel.field === "success" && cell.published !== null) svg.append(mark(look(row), x, height(cell.published), `${cell.row}, ${cell.column}: published ${short(cell.published)}`, true));
    }
  });
  return svg;
}

function legend(chosen) {
  const rows = chosen.rows.filter((row) => chosen.cells.some((cell) => cell.row === row));
  const sample = (drawn) => make("svg", { width: 14, height: 14, "aria-hidden": "true" }, drawn);
  const items = rows.map((row, i) => make("li", {}, sample(mark(look(i), 7, 7, row)), row));
  if (chosen.cells.some((cell) => cell.published !== null)) items.push(make("li", { class: "quiet" }, sample(mark({ kind: "circle", colour: "var(--soft)" }, 7, 7, "published", true)), "hollow: published"));
  return items;
}

function study() {
  const chosen = current();
  at("study-title").textContent = chosen.title;
  at("study-about").textContent = `${chosen.name}. Reproduces: ${chosen.reproduces}. Success rate with its 95 % Wilson interval, (published); ≠ marks intervals that do not overlap.`;
  at("legend").replaceChildren(...legend(chosen));
  at("figure").replaceChildren(figure(chosen, at("figure").clientWidth));
  const rows = chosen.rows.filter((row) => chosen.cells.some((cell) => cell.row === row));
  const head = make("tr", {}, make("th", {}, ""), ...rows.map((row) => make("th", {}, row)));
  const body = chosen.columns.map((column) => make("tr", {}, make("td", {}, column), ...rows.map((row) => {
    const cell = chosen.cells.find((c) => c.row === row && c.column === column);
    if (!cell) return make("td", {}, "");
    const said = cell.published === null ? "" : ` (${rate(cell.published)})${cell.disagrees ? " ≠" : ""}`;
    return make("td", {}, make("button", { type: "button", style: `background:${shade(cell.success[0])}`, title: cell.source, onclick: () => detail(chosen, cell) },
      rate(cell.success[0]), make("span", { class: cell.disagrees ? "apart" : "said" }, said), make("br"),
      make("span", { class: "said" }, `${rate(cell.success[1])}-${rate(cell.success[2])}`)));
  })));
  at("cells").replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  at("notes").replaceChildren(...chosen.notes.map((note) => make("li", {}, note)));
}

function curves(runs) {
  const drawn = runs.filter((run) => run.curve);
  if (!drawn.length) return make("p", {}, "No learning curves here: a table holds none, and a page of more than 3,000 runs leaves them out.");
  const width = 640, height = 220;
  const errors = drawn.flatMap((run) => run.curve[2]).filter((v) => v > 0).map(Math.log10);
  const low = Math.floor(Math.min(...errors)), high = Math.ceil(Math.max(...errors)) || 1;
  const last = Math.max(...drawn.flatMap((run) => run.curve[0])) || 1;
  const svg = make("svg", { viewBox: `0 0 ${width} ${height + 34}`, width: "100%", style: "max-width:640px", role: "img", "aria-label": "test error of every seed" });
  for (const tick of [low, high]) {
    const y = 8 + height - ((tick - low) / (high - low || 1)) * height;
    svg.append(make("line", { class: "axis", x1: 52, x2: width, y1: y, y2: y }), make("text", { x: 46, y: y + 4, "text-anchor": "end" }, `1e${tick}`));
  }
  for (const run of drawn) {
    const points = run.curve[2].map((v, i) => (v > 0 ? `${52 + (run.curve[0][i] / last) * (width - 60)},${8 + height - ((Math.log10(v) - low) / (high - low || 1)) * height}` : null)).filter(Boolean);
    svg.append(make("polyline", { class: "mark", points: points.join(" "), fill: "none", style: `stroke:var(${run.solved ? "--c2" : "--c1"})`, "stroke-width": 1.3, opacity: 0.7 }, make("title", {}, `seed ${run.seed}`)));
  }
  svg.append(make("text", { x: 52, y: height + 26 }, `test error over ${last.toLocaleString("en")} steps; green: solved, orange: not`));
  return svg;
}

function detail(chosen, cell) {
  at("detail").hidden = false;
  at("detail-title").textContent = `${cell.row} on ${cell.column}`;
  const solved = cell.runs.filter((run) => run.solved).length;
  const told = (field) => [...new Set(cell.runs.map((run) => run[field]).filter(Boolean))].join(" or ");
  const made = [told("engine") && `${told("engine")} engine`, told("versions")].filter(Boolean).join(", ");
  at("detail-about").textContent = `${solved} of ${cell.runs.length} seeds solved.${made ? ` Trained by the ${made}.` : ""}`;
  at("curves").replaceChildren(curves(cell.runs));
  const head = make("tr", {}, ...["seed", "solved at", "test error", "sparsity", "learned", "weights", "run"].map((name) => make("th", {}, name)));
  const body = cell.runs.map((run) => make("tr", {}, make("td", {}, run.seed), make("td", {}, run.solved ? short(run.at) : "-"), make("td", {}, short(run.error)), make("td", {}, short(run.sparsity)),
    make("td", {}, run.expression || ""), make("td", {}, run.weights ? Object.entries(run.weights).map(([name, v]) => `${name}: ${Array.isArray(v) ? v.map(short).join(" ") : v}`).join("; ") : ""), make("td", {}, make("code", {}, run.id))));
  at("runs").replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  at("command").textContent = `nalm run ${chosen.name} --unit "${cell.row}" --range "${cell.column}"`;
  at("detail").scrollIntoView({ behavior: "smooth", block: "start" });
}

at("about").textContent = `${data.runs.toLocaleString("en")} runs from ${data.source}, nalm ${data.version}. Everything is inside this file.`;
at("study").replaceChildren(...data.studies.map((s) => make("option", { value: s.name }, `${s.name}: ${s.title}`)));
addEventListener("resize", () => at("figure").replaceChildren(figure(current(), at("figure").clientWidth)));
at("study").addEventListener("change", (event) => choose(event.target.value));
at("filter").addEventListener("input", (event) => { state.filter = event.target.value; overview(); });
function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  at("theme").textContent = dark ? "Light" : "Dark";
}
at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
theme(matchMedia("(prefers-color-scheme: dark)").matches);
at("study").value = state.study;
overview();
study();
