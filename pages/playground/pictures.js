// Drawing on canvas: the error landscape, the output surface and the two charts of a training. Nothing here knows a unit.
"use strict";

const Pictures = (() => {
  // Colour scales run through lightness as well as hue, so that they survive every kind of colour vision and a copier.
  const DEPTH = ["#0b1038", "#1d3a80", "#2f6fae", "#62a7c7", "#a9d3d6", "#eef4e6"].map(rgb); // low error to high error
  const HEIGHT = ["#173f73", "#4d8ac0", "#b9d3e4", "#f2efe9", "#f3cf94", "#dc9138", "#8f4a0b"].map(rgb); // below to above 0

  function rgb(hex) {
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  }

  function colour(scale, share) {
    const place = Math.min(Math.max(Number.isNaN(share) ? 1 : share, 0), 1) * (scale.length - 1);
    const i = Math.min(Math.floor(place), scale.length - 2);
    return scale[i].map((c, k) => c + (scale[i + 1][k] - c) * (place - i));
  }

  const css = (c, alpha = 1) => `rgb(${c.map(Math.round).join(" ")} / ${alpha})`;

  function theme() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return { ink: read("--ink"), muted: read("--muted"), line: read("--line"), card: read("--card"), soft: read("--soft"),
      adam: read("--adam"), rule: read("--rule"), input: read("--input") };
  }

  /** A canvas at the screen's own resolution, cleared, in units of CSS pixels. */
  function prepare(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `${width < 400 ? 11 : 12}px system-ui, sans-serif`;
    context.lineJoin = context.lineCap = "round";
    return { context, width, height, look: theme() };
  }

  /** Whole or decimal numbers at which an axis from low to high is marked. */
  function ticks(low, high, count = 5) {
    const raw = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].find((s) => s * power >= raw) * power;
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
  }

  const label = (value) => `${+value.toPrecision(6)}`.replace("-", "−");
  const RAISED = { "-": "⁻", ...Object.fromEntries([..."0123456789"].map((d, i) => [d, "⁰¹²³⁴⁵⁶⁷⁸⁹"[i]])) };
  const power = (exponent) => `10${[...`${exponent}`].map((d) => RAISED[d]).join("")}`;

  // -- the error landscape -----------------------------------------------------------------------------------------

  /** The error over two weights: `count` x `count` values of log10, rows from low to high of the second weight. */
  function relief(evaluate, view, count) {
    const values = new Float64Array(count * count);
    for (let row = 0; row < count; row++) {
      const second = view.up[0] + ((view.up[1] - view.up[0]) * row) / (count - 1);
      for (let column = 0; column < count; column++) {
        const first = view.across[0] + ((view.across[1] - view.across[0]) * column) / (count - 1);
        values[row * count + column] = Math.log10(evaluate(first, second) + 1e-12);
      }
    }
    const finite = Array.from(values).filter(Number.isFinite).sort((a, b) => a - b);
    const quantile = (share) => finite[Math.floor(share * (finite.length - 1))];
    // Around a solution the error falls without end, beside a pole it rises without end. Colour starts where a hundredth
    // of the map lies below, so that traps, which are shallow, are seen as hollows, and spans at most five decades.
    const low = quantile(0.01);
    const high = Math.min(quantile(0.985), low + 5);
    return { values, count, view, low, high: Math.max(high, low + 0.5) };
  }

  /**
   * Points lower than everything around them; the deepest few, away from `solution`. Where `closed` says that an axis
   * ends at a wall and not merely at the end of the view, they may lie on its ends.
   */
  function traps(map, solution, closed) {
    const { values, count, view } = map;
    const found = [];
    const at = (row, column) => values[row * count + column];
    const reach = Math.max(2, Math.round(count / 16));
    const open = [closed.across ? 0 : reach, closed.up ? 0 : reach];
    for (let row = open[1]; row < count - open[1]; row++) {
      for (let column = open[0]; column < count - open[0]; column++) {
        let lowest = true;
        let rises = false;
        for (let r = Math.max(0, row - reach); lowest && r <= Math.min(count - 1, row + reach); r++) {
          for (let c = Math.max(0, column - reach); c <= Math.min(count - 1, column + reach); c++) {
            if (r === row && c === column) continue;
            if (at(r, c) <= at(row, column)) { lowest = false; break; }
            if (at(r, c) > at(row, column) + 0.02) rises = true;
          }
        }
        if (!lowest || !rises) continue;
        const place = [
          view.across[0] + ((view.across[1] - view.across[0]) * column) / (count - 1),
          view.up[0] + ((view.up[1] - view.up[0]) * row) / (count - 1),
        ];
        const spans = [view.across, view.up].map((s) => s[1] - s[0]);
        const away = solution ? Math.max(...place.map((v, i) => Math.abs(v - solution[i]) / spans[i])) : 1;
        if (away > 0.08) found.push({ place, error: at(row, column) });
      }
    }
    return found.sort((a, b) => a.error - b.error).slice(0, 3).map((f) => f.place);
  }

  function contours(context, map, level, x, y) {
    const { values, count } = map;
    const cut = (a, b) => (level - a) / (b - a);
    context.beginPath();
    for (let row = 0; row < count - 1; row++) {
      for (let column = 0; column < count - 1; column++) {
        const i = row * count + column;
        const corner = [values[i], values[i + 1], values[i + count + 1], values[i + count]];
        const points = [];
        if (corner[0] < level !== corner[1] < level) points.push([column + cut(corner[0], corner[1]), row]);
        if (corner[1] < level !== corner[2] < level) points.push([column + 1, row + cut(corner[1], corner[2])]);
        if (corner[3] < level !== corner[2] < level) points.push([column + cut(corner[3], corner[2]), row + 1]);
        if (corner[0] < level !== corner[3] < level) points.push([column, row + cut(corner[0], corner[3])]);
        for (let k = 0; k + 1 < points.length; k += 2) {
          context.moveTo(x(points[k][0] / (count - 1)), y(points[k][1] / (count - 1)));
          context.lineTo(x(points[k + 1][0] / (count - 1)), y(points[k + 1][1] / (count - 1)));
        }
      }
    }
    context.stroke();
  }

  const bitmap = typeof document === "undefined" ? null : document.createElement("canvas");

  function paint(map, scale = DEPTH) {
    bitmap.width = bitmap.height = map.count;
    const context = bitmap.getContext("2d");
    const image = context.createImageData(map.count, map.count);
    for (let row = 0; row < map.count; row++) {
      for (let column = 0; column < map.count; column++) {
        const value = map.values[row * map.count + column];
        const c = colour(scale, (value - map.low) / (map.high - map.low));
        const i = 4 * ((map.count - 1 - row) * map.count + column);
        for (let k = 0; k < 3; k++) image.data[i + k] = c[k];
        image.data[i + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
  }

  /** Where the map lies inside its canvas. */
  function frame(canvas) {
    return { left: 46, top: 14, right: canvas.clientWidth - 66, bottom: canvas.clientHeight - 40 };
  }

  /** The weights under a pointer. */
  function unproject(canvas, view, px, py) {
    const f = frame(canvas);
    const share = [(px - f.left) / (f.right - f.left), (f.bottom - py) / (f.bottom - f.top)];
    return [view.across, view.up].map((s, i) => s[0] + (s[1] - s[0]) * Math.min(Math.max(share[i], 0), 1));
  }

  function landscape(canvas, { map, names, box, point, downhill, solution, found, adam, rule }) {
    const { context, look } = prepare(canvas);
    const f = frame(canvas);
    const { view } = map;
    const sx = (share) => f.left + (f.right - f.left) * share;
    const sy = (share) => f.bottom - (f.bottom - f.top) * share;
    const inside = (v) => Math.min(Math.max(v, 0), 1);
    const px = (v) => sx(inside((v - view.across[0]) / (view.across[1] - view.across[0])));
    const py = (v) => sy(inside((v - view.up[0]) / (view.up[1] - view.up[0])));

    paint(map);
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, f.left, f.top, f.right - f.left, f.bottom - f.top);
    context.save();
    context.beginPath();
    context.rect(f.left, f.top, f.right - f.left, f.bottom - f.top);
    context.clip();
    const spacing = map.high - map.low > 3 ? 0.5 : (map.high - map.low) / 8;
    for (let level = Math.ceil(map.low / spacing) * spacing; level < map.high; level += spacing) {
      const light = (level - map.low) / (map.high - map.low) < 0.55;
      context.strokeStyle = light ? "rgb(255 255 255 / 0.22)" : "rgb(10 20 60 / 0.2)";
      context.lineWidth = 1;
      contours(context, map, level, sx, sy);
    }
    context.restore();
    if (box) {
      context.setLineDash([4, 4]);
      context.strokeStyle = "rgb(255 255 255 / 0.75)";
      context.strokeRect(px(box.across[0]), py(box.up[1]), px(box.across[1]) - px(box.across[0]), py(box.up[0]) - py(box.up[1]));
      context.setLineDash([]);
    }

    axes(context, f, view.across, view.up, names, look, px, py);
    bar(context, f, map, look);

    trail(context, adam.map(([a, b]) => [px(a), py(b)]), look.adam, "circle");
    trail(context, rule.map(([a, b]) => [px(a), py(b)]), look.rule, "diamond");
    for (const [a, b] of found) cross(context, px(a), py(b));
    if (solution) star(context, px(solution[0]), py(solution[1]));
    const [x, y] = [px(point[0]), py(point[1])];
    if (downhill) arrow(context, x, y, downhill, f);
    context.beginPath();
    context.arc(x, y, 8, 0, 7);
    cased(context, "#ffffff", 3);
    context.beginPath();
    context.arc(x, y, 2.5, 0, 7);
    context.fillStyle = "#ffffff";
    context.fill();
  }

  /** The value of a weight over the two numbers behind it, with a dot for each weight of the unit. */
  function hill(canvas, { value, view, names, dots }) {
    const { context, width, height, look } = prepare(canvas);
    const f = { left: 40, top: 8, right: width - 10, bottom: height - 38 };
    const count = 61;
    const at = (i) => view[0] + ((view[1] - view[0]) * i) / (count - 1);
    const values = Float64Array.from({ length: count * count }, (_, i) => value(at(i % count), at(Math.floor(i / count))));
    const map = { values, count, low: -1, high: 1 };
    const inside = (v) => Math.min(Math.max((v - view[0]) / (view[1] - view[0]), 0), 1);
    const px = (v) => f.left + (f.right - f.left) * inside(v);
    const py = (v) => f.bottom - (f.bottom - f.top) * inside(v);
    paint(map, HEIGHT);
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, f.left, f.top, f.right - f.left, f.bottom - f.top);
    context.strokeStyle = "rgb(20 30 60 / 0.35)";
    context.lineWidth = 1;
    for (const level of [-0.99, -0.9, -0.5, 0.5, 0.9, 0.99]) {
      contours(context, map, level, (s) => f.left + (f.right - f.left) * s, (s) => f.bottom - (f.bottom - f.top) * s);
    }
    axes(context, f, view, view, names, look, px, py);
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const [text, a] of [["−1", -0.55], ["1", 0.55]]) {
      context.fillStyle = "#ffffff";
      context.fillText(text, px(a * view[1]), py(0.6 * view[1]));
    }
    for (const { place, label: text } of dots) {
      const [x, y] = [px(place[0]), py(place[1])];
      context.beginPath();
      context.arc(x, y, 6, 0, 7);
      cased(context, "#ffffff", 2.5);
      const right = x > (f.left + f.right) / 2;
      const [tx, ty] = [x + (right ? -12 : 12), Math.max(y, f.top + 9)];
      context.textAlign = right ? "right" : "left";
      context.strokeStyle = "#ffffff";
      context.lineWidth = 3;
      context.strokeText(text, tx, ty);
      context.fillStyle = "#0b1038";
      context.fillText(text, tx, ty);
    }
  }

  function axes(context, f, across, up, names, look, px, py) {
    context.strokeStyle = look.line;
    context.fillStyle = look.muted;
    context.lineWidth = 1;
    context.strokeRect(f.left, f.top, f.right - f.left, f.bottom - f.top);
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const t of ticks(...across)) context.fillText(label(t), px(t), f.bottom + 6);
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const t of ticks(...up)) context.fillText(label(t), f.left - 6, py(t));
    context.fillStyle = look.ink;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(names[0], (f.left + f.right) / 2, f.bottom + 38);
    context.save();
    context.translate(12, (f.top + f.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(names[1], 0, 4);
    context.restore();
  }

  function bar(context, f, map, look) {
    const left = f.right + 12;
    const height = f.bottom - f.top;
    for (let i = 0; i < height; i++) {
      context.fillStyle = css(colour(DEPTH, 1 - i / height));
      context.fillRect(left, f.top + i, 10, 1.5);
    }
    context.fillStyle = look.muted;
    context.textAlign = "left";
    context.textBaseline = "middle";
    const first = Math.ceil(map.low);
    const stride = Math.max(1, Math.ceil((map.high - map.low) / 6));
    const marks = [];
    for (let e = first; e <= map.high; e += stride) marks.push([e, power(e)]);
    if (marks.length < 2) {
      marks.length = 0;
      for (const e of [map.low, (map.low + map.high) / 2, map.high]) marks.push([e, label(+(10 ** e).toPrecision(2))]);
    }
    for (const [e, text] of marks) {
      const y = f.bottom - (height * (e - map.low)) / (map.high - map.low);
      context.fillText(text, left + 14, Math.min(Math.max(y, f.top + 6), f.bottom - 6));
    }
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.fillStyle = look.ink;
    context.fillText("error", f.right + 46, f.bottom + 20);
  }

  /** Stroke the current path in a colour, on a dark casing that shows on every ground. */
  function cased(context, stroke, width) {
    context.strokeStyle = "rgb(8 12 32 / 0.8)";
    context.lineWidth = width + 2.5;
    context.stroke();
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.stroke();
  }

  function trail(context, points, stroke, shape) {
    if (points.length < 2) return;
    context.beginPath();
    points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    cased(context, stroke, shape === "circle" ? 2.5 : 3);
    const shown = shape === "circle" ? [points[0], points[points.length - 1]] : points;
    for (const [x, y] of shown) {
      context.beginPath();
      if (shape === "circle") context.arc(x, y, 4.5, 0, 7);
      else polygon(context, x, y, 6, 4, 0);
      context.fillStyle = stroke;
      context.strokeStyle = "rgb(8 12 32 / 0.8)";
      context.lineWidth = 1.5;
      context.fill();
      context.stroke();
    }
  }

  function polygon(context, x, y, radius, corners, inner) {
    const points = inner ? 2 * corners : corners;
    for (let i = 0; i < points; i++) {
      const r = inner && i % 2 ? inner : radius;
      const angle = (i * 2 * Math.PI) / points - Math.PI / 2;
      context[i ? "lineTo" : "moveTo"](x + r * Math.cos(angle), y + r * Math.sin(angle));
    }
    context.closePath();
  }

  function star(context, x, y) {
    context.beginPath();
    polygon(context, x, y, 11, 5, 4.6);
    context.fillStyle = "#ffffff";
    context.strokeStyle = "rgb(8 12 32 / 0.9)";
    context.lineWidth = 1.8;
    context.fill();
    context.stroke();
  }

  function cross(context, x, y) {
    context.beginPath();
    context.arc(x, y, 8, 0, 7);
    context.moveTo(x - 4.5, y - 4.5);
    context.lineTo(x + 4.5, y + 4.5);
    context.moveTo(x + 4.5, y - 4.5);
    context.lineTo(x - 4.5, y + 4.5);
    cased(context, "#ffffff", 1.8);
  }

  function arrow(context, x, y, [dx, dy], f) {
    const size = Math.hypot(dx, dy);
    if (!(size > 0)) return;
    const length = Math.min(52, 0.22 * (f.right - f.left));
    const [ux, uy] = [dx / size, -dy / size];
    const [ex, ey] = [x + ux * length, y + uy * length];
    context.beginPath();
    context.moveTo(x + ux * 10, y + uy * 10);
    context.lineTo(ex, ey);
    context.moveTo(ex - 9 * ux + 5 * uy, ey - 9 * uy - 5 * ux);
    context.lineTo(ex, ey);
    context.lineTo(ex - 9 * ux - 5 * uy, ey - 9 * uy + 5 * ux);
    cased(context, "#ffffff", 2);
  }

  // -- the output surface ------------------------------------------------------------------------------------------

  /** A surface over both inputs seen from a turned, raised eye, the target as a net, the current input as a pin. */
  function surface(canvas, { shown, train, output, target, turn, tilt, point, difference }) {
    const { context, width, height, look } = prepare(canvas);
    const n = 27;
    const axis = Array.from({ length: n }, (_, i) => shown[0] + ((shown[1] - shown[0]) * (i + 0.5)) / n);
    const grid = axis.map((b) => axis.map((a) => ({ y: output(a, b), t: target(a, b) })));
    const reach = scaleOf(grid.flat().map((g) => (difference ? g.y - g.t : g.t)), difference);
    const [c, s, ct, st] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
    const size = Math.min(width * 0.54, height * 0.78);
    const unit = (v) => (v - shown[0]) / (shown[1] - shown[0]) - 0.5;
    const lift = (v) => Math.min(Math.max(v / reach, -1.15), 1.15) * 0.42;
    const project = (a, b, z) => {
      const [x, y] = [unit(a) * c - unit(b) * s, unit(a) * s + unit(b) * c];
      return [width / 2 - 8 + x * size, height * 0.5 - (z * ct + y * st) * size, y * ct - z * st]; // screen, depth
    };
    const floor = -0.5;

    outline(context, look, shown, project, floor, 1, look.muted, look.soft);
    const zone = [Math.max(train[0], shown[0]), Math.min(train[1], shown[1])];
    outline(context, look, zone, project, floor, 2, look.input);

    const items = [];
    const value = (g) => (difference ? g.y - g.t : g.y);
    for (let i = 0; i < n - 1; i++) {
      for (let j = 0; j < n - 1; j++) {
        const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]];
        const faces = [
          [corners.map(([r, k]) => project(axis[k], axis[r], lift(value(grid[r][k])))), true],
          [corners.map(([r, k]) => project(axis[k], axis[r], lift(difference ? 0 : grid[r][k].t))), false],
        ];
        const mean = corners.reduce((sum, [r, k]) => sum + value(grid[r][k]), 0) / 4;
        const [a, b] = [(axis[j] + axis[j + 1]) / 2, (axis[i] + axis[i + 1]) / 2];
        const known = a >= train[0] && a <= train[1] && b >= train[0] && b <= train[1];
        for (const [points, solid] of faces) {
          const depth = points.reduce((sum, q) => sum + q[2], 0) / 4;
          items.push({ points, solid, mean, known, depth, net: i % 3 === 0 || j % 3 === 0 });
        }
      }
    }
    items.sort((p, q) => q.depth - p.depth);
    for (const { points, solid, mean, known, net } of items) {
      if (!solid && !net) continue;
      context.beginPath();
      points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.closePath();
      if (solid) {
        context.fillStyle = css(colour(HEIGHT, 0.5 + mean / reach / 2), known ? 1 : 0.8);
        context.fill();
        context.strokeStyle = known ? look.input : "rgb(20 30 60 / 0.18)";
        context.lineWidth = known ? 0.9 : 0.6;
        context.stroke();
      } else {
        context.strokeStyle = look.ink;
        context.globalAlpha = 0.38;
        context.lineWidth = 0.8;
        context.stroke();
        context.globalAlpha = 1;
      }
    }
    pin(context, look, project, lift, point, difference, floor);
    surfaceLabels(context, look, shown, project, floor, reach, width, height, difference);
  }

  /** A height that most of the surface stays below: the largest target, or the 95th percentile next to a pole. */
  function scaleOf(values, tight) {
    const sizes = values.map(Math.abs).filter(Number.isFinite).sort((a, b) => a - b);
    const most = sizes[Math.floor(0.95 * (sizes.length - 1))] || 1;
    const largest = sizes[sizes.length - 1] || 1;
    return Math.max(largest > 4 * most && !tight ? 2 * most : largest, 1e-9);
  }

  function outline(context, look, span, project, floor, lineWidth, stroke, fill) {
    const corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([i, j]) => project(span[i], span[j], floor));
    context.beginPath();
    corners.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    context.strokeStyle = stroke;
    context.lineWidth = lineWidth;
    context.stroke();
  }

  function pin(context, look, project, lift, { a, b, y, t }, difference, floor) {
    const foot = project(a, b, floor);
    const [wanted, got] = difference ? [0, y - t] : [t, y];
    const [top, aim] = [project(a, b, lift(Number.isFinite(got) ? got : 0)), project(a, b, lift(wanted))];
    context.setLineDash([3, 3]);
    context.strokeStyle = look.muted;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(foot[0], foot[1]);
    context.lineTo(aim[0], aim[1]);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(aim[0], aim[1]);
    context.lineTo(top[0], top[1]);
    cased(context, look.adam, 2);
    for (const [point, fill] of [[aim, "#ffffff"], [top, look.adam]]) {
      context.beginPath();
      context.arc(point[0], point[1], 5, 0, 7);
      context.fillStyle = fill;
      context.strokeStyle = "rgb(8 12 32 / 0.9)";
      context.lineWidth = 1.5;
      context.fill();
      context.stroke();
    }
  }

  function surfaceLabels(context, look, shown, project, floor, reach, width, height, difference) {
    const middle = (shown[0] + shown[1]) / 2;
    const out = (shown[1] - shown[0]) * 0.11;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const put = (text, a, b, fill) => {
      const [x, y] = project(a, b, floor);
      context.fillStyle = fill;
      context.fillText(text, x, y + 4);
    };
    const near = (a, b) => project(a, b, floor)[1];
    const edgeB = near(middle, shown[0]) > near(middle, shown[1]) ? shown[0] - out : shown[1] + out;
    const edgeA = near(shown[0], middle) > near(shown[1], middle) ? shown[0] - out : shown[1] + out;
    put("a", middle, edgeB, look.ink);
    put("b", edgeA, middle, look.ink);
    for (const v of shown) {
      put(label(v), v, edgeB, look.muted);
      put(label(v), edgeA, v, look.muted);
    }
    const top = 12;
    const length = Math.min(120, height * 0.36);
    for (let i = 0; i < length; i++) {
      context.fillStyle = css(colour(HEIGHT, 1 - i / length));
      context.fillRect(width - 16, top + i, 10, 1.5);
    }
    context.fillStyle = look.muted;
    context.textAlign = "right";
    const round = label(+reach.toPrecision(2));
    context.fillText(round, width - 20, top + 4);
    context.fillText("0", width - 20, top + length / 2);
    context.fillText(`−${round}`, width - 20, top + length - 4);
    context.fillStyle = look.ink;
    context.fillText(difference ? "y − target" : "y", width - 6, top + length + 14);
  }

  // -- charts ------------------------------------------------------------------------------------------------------

  const place = (step) => Math.log10(1 + step);

  /** Lines over training steps; the horizontal axis is log10(1 + step), so that the first steps can be seen. */
  function chart(canvas, { series, span, last, logarithmic, aims = [], name }) {
    const { context, width, height, look } = prepare(canvas);
    const f = { left: 46, right: width - 12, top: 20, bottom: height - 36 };
    const x = (step) => f.left + ((f.right - f.left) * place(step)) / place(last);
    const y = (v) => f.bottom - (f.bottom - f.top) * Math.min(Math.max((v - span[0]) / (span[1] - span[0]), 0), 1);
    context.lineWidth = 1;
    context.fillStyle = look.muted;
    context.strokeStyle = look.line;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const marks = logarithmic
      ? ticks(span[0], span[1], 4).filter(Number.isInteger)
      : ticks(span[0], span[1], 4);
    for (const t of marks) {
      context.beginPath();
      context.moveTo(f.left, y(t));
      context.lineTo(f.right, y(t));
      context.stroke();
      context.fillText(logarithmic ? power(t) : label(t), f.left - 6, y(t));
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const step of [1, 10, 100, 1_000, 10_000, 50_000].filter((s) => s <= last * 1.001)) {
      if (step === 10_000 && last > 40_000) continue;
      context.fillText(step.toLocaleString("en"), Math.min(x(step), f.right - 14), f.bottom + 5);
    }
    context.fillText("0", x(0), f.bottom + 5);
    context.fillStyle = look.ink;
    context.textBaseline = "bottom";
    context.fillText("training step", (f.left + f.right) / 2, height - 1);
    context.textAlign = "left";
    context.textBaseline = "top";
    context.fillText(name, 4, 0);
    context.setLineDash([6, 4]);
    for (const aim of aims) {
      context.strokeStyle = look.ink;
      context.globalAlpha = 0.6;
      context.beginPath();
      context.moveTo(f.left, y(aim));
      context.lineTo(f.right, y(aim));
      context.stroke();
      context.globalAlpha = 1;
    }
    context.setLineDash([]);
    for (const { points, who, dash, title } of series) {
      if (!points.length) continue;
      context.strokeStyle = context.fillStyle = look[who];
      context.lineWidth = 2;
      context.setLineDash(dash ? [2, 4] : []);
      context.beginPath();
      points.forEach(([step, v], i) => (i ? context.lineTo(x(step), y(v)) : context.moveTo(x(step), y(v))));
      context.stroke();
      context.setLineDash([]);
      const marked = who === "rule" ? points : [points[points.length - 1]];
      for (const [step, v] of marked) {
        context.beginPath();
        if (who === "rule") polygon(context, x(step), y(v), 4.5, 4, 0);
        else context.arc(x(step), y(v), 3.5, 0, 7);
        context.fill();
      }
      if (title) {
        const [step, v] = points[points.length - 1];
        const right = x(step) > f.right - 40;
        context.textAlign = right ? "right" : "left";
        context.textBaseline = "bottom";
        context.fillText(title, x(step) + (right ? -6 : 7), y(v) - 3);
      }
    }
  }

  return { relief, traps, landscape, unproject, surface, hill, chart };
})();
