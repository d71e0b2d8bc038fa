"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f"]; // Okabe and Ito's, safe for colour-blind readers
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
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
// From white to green: the share is also printed, so colour is never the only sign.
const shade = (share) => `color-mix(in srgb, var(--accent) ${Math.round(share * 45)}%, var(--card))`;

const state = { sort: null, falling: true, filter: "", study: data.studies[0].name };
const current = () => data.studies.find((study) => study.name === state.study);

function overview() {
  const present = (study) => study.rows.filter((row) => study.cells.some((cell) => cell.row === row));
  const counts = new Map();
  for (const row of data.studies.flatMap(present)) counts.set(row, (counts.get(row) || 0) + 1);
  // Rows of one study only (the steps of an ablation) are seen in that study.
  const units = [...counts.keys()].filter((row) => counts.get(row) > 1 || data.studies.length === 1);
  const value = (study, unit) => {
    const cells = study.cells.filter((cell) => cell.row === unit);
    return cells.length ? mean(cells.map((cell) => cell.success[0])) : null;
  };
  const wanted = state.filter.toLowerCase().split(",").map((word) => word.trim()).filter(Boolean);
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
    return v === null ? make("td", {}, "") : make("td", { style: `background:${shade(v)}` }, rate(v));
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

function mark(kind, x, y, colour, label) {
  const size = 4;
  const shapes = {
    circle: () => make("circle", { cx: x, cy: y, r: size }),
    square: () => make("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size }),
    triangle: () => make("path", { d: `M${x} ${y - size - 1}L${x + size + 1} ${y + size}L${x - size - 1} ${y + size}z` }),
    diamond: () => make("path", { d: `M${x} ${y - size - 1}L${x + size + 1} ${y}L${x} ${y + size + 1}L${x - size - 1} ${y}z` }),
  };
  const node = shapes[kind]();
  node.setAttribute("fill", colour);
  node.classList.add("mark");
  node.append(make("title", {}, label));
  return node;
}

function figure(chosen) {
  const panels = [["success", "success rate", (v) => v, [0, 1]], ["steps", "steps to solve", Math.log10, null], ["sparsity", "sparsity error", Math.log10, null]];
  const rows = chosen.rows.filter((row) => chosen.cells.some((cell) => cell.row === row));
  const width = Math.max(420, 70 + 74 * chosen.columns.length);
  const height = 130;
  const svg = make("svg", { viewBox: `0 0 ${width} ${panels.length * (height + 18) + 60}`, width, role: "img", "aria-label": chosen.title });
  panels.forEach(([field, label, scale, fixed], number) => {
    const top = number * (height + 18) + 8;
    const values = chosen.cells.flatMap((cell) => (cell[field] ? cell[field] : [])).filter((v) => v !== null && (fixed || v > 0)).map(scale);
    if (!values.length) return;
    let [low, high] = fixed || [Math.floor(Math.min(...values)), Math.ceil(Math.max(...values))];
    if (low === high) high += 1;
    const y = (value) => top + height - ((scale(value) - low) / (high - low)) * height;
    for (const tick of [low, (low + high) / 2, high]) {
      const line = top + height - ((tick - low) / (high - low)) * height;
      svg.append(make("line", { class: "axis", x1: 60, x2: width - 8, y1: line, y2: line }));
      svg.append(make("text", { x: 54, y: line + 4, "text-anchor": "end" }, fixed ? tick : `1e${tick}`));
    }
    svg.append(make("text", { x: 62, y: top + 10 }, label));
    for (const cell of chosen.cells) {
      const interval = cell[field];
      if (!interval || interval[0] === null || (!fixed && interval[0] <= 0)) continue;
      const row = rows.indexOf(cell.row);
      const x = 90 + 74 * chosen.columns.indexOf(cell.column) + (row - rows.length / 2) * Math.min(6, 60 / rows.length);
      const colour = COLOURS[row % COLOURS.length];
      const [middle, down, up] = interval;
      if (down !== null && up !== null && (fixed || down > 0)) svg.append(make("line", { x1: x, x2: x, y1: y(down), y2: y(up), stroke: colour }));
      svg.append(mark(MARKS[Math.floor(row / COLOURS.length) % MARKS.length], x, y(middle), colour, `${cell.row}, ${cell.column}: ${label} ${short(middle)}`));
    }
  });
  const bottom = panels.length * (height + 18) + 14;
  chosen.columns.forEach((column, i) => svg.append(make("text", { x: 90 + 74 * i, y: bottom, "text-anchor": "middle" }, column)));
  let x = 62;
  let y = bottom + 24;
  rows.forEach((row, i) => {
    svg.append(mark(MARKS[Math.floor(i / COLOURS.length) % MARKS.length], x, y - 4, COLOURS[i % COLOURS.length], row), make("text", { x: x + 9, y }, row));
    x += 30 + 7.2 * row.length;
    if (x > width - 90) { x = 62; y += 18; }
  });
  svg.setAttribute("viewBox", `0 0 ${width} ${y + 12}`);
  return svg;
}

function study() {
  const chosen = current();
  at("study-title").textContent = chosen.title;
  at("study-about").textContent = `${chosen.name}. Reproduces: ${chosen.reproduces}. Success rate with its 95 % Wilson interval, (published); ≠ marks intervals that do not overlap.`;
  at("figure").replaceChildren(figure(chosen));
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
  if (!drawn.length) return make("p", {}, "This table holds no learning curves; a report of the store itself shows them.");
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
    svg.append(make("polyline", { class: "mark", points: points.join(" "), fill: "none", stroke: run.solved ? COLOURS[2] : COLOURS[1], "stroke-width": 1.3, opacity: 0.7 }, make("title", {}, `seed ${run.seed}`)));
  }
  svg.append(make("text", { x: 52, y: height + 26 }, `test error over ${last.toLocaleString("en")} steps; green: solved, orange: not`));
  return svg;
}

function detail(chosen, cell) {
  at("detail").hidden = false;
  at("detail-title").textContent = `${cell.row} on ${cell.column}`;
  const solved = cell.runs.filter((run) => run.solved).length;
  at("detail-about").textContent = `${solved} of ${cell.runs.length} seeds solved.`;
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
at("study").addEventListener("change", (event) => choose(event.target.value));
at("filter").addEventListener("input", (event) => { state.filter = event.target.value; overview(); });
function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  at("theme").textContent = dark ? "Light" : "Dark";
}
at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
theme(matchMedia("(prefers-color-scheme: dark)").matches);
overview();
study();
