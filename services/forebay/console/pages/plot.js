// Line plots of the last hour in SVG, with gaps for missing values.

import { h, put, s } from "./dom.js";
import { time } from "./units.js";

const HEIGHT = 132;
const LEFT = 84;
const BOTTOM = 20;
const TOP = 8;
const SPAN_S = 3600;

/** A small line plot without axes, for a table's row. `values` contains numbers and nulls. */
export function spark(values, label) {
  const width = 96;
  const height = 24;
  const known = values.filter((value) => value !== null);
  const most = Math.max(...known, 1e-9);
  const x = (at) => 1 + (at / Math.max(values.length - 1, 1)) * (width - 2);
  const y = (value) => height - 2 - (value / most) * (height - 4);
  const path = line(values, (at) => x(at), y);
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, s("path", { d: path }));
}

function line(values, x, y) {
  let path = "";
  let open = false;
  values.forEach((value, at) => {
    if (value === null || value === undefined) {
      open = false;
      return;
    }
    const alone = !open && (values[at + 1] === null || values[at + 1] === undefined);
    path += `${open ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    if (alone) path += "h0.1";
    open = true;
  });
  return path;
}

// The smallest round number that is not below a value: 1, 2, 2.5 or 5 times a power of ten.
function rounded(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((each) => each * size).find((each) => each >= value * 0.999) ?? value;
}

/**
 * A plot of several lines.
 * `title` is the caption, `unit` formats a value, `empty` is shown if there are no values.
 */
export class Plot {
  constructor(title, unit, empty = "no data yet: it is updated every few seconds") {
    this.unit = unit;
    this.empty = empty;
    this.lines = [];
    this.said = h("span", { class: "reading", "aria-live": "polite" });
    this.canvas = h("div", { class: "canvas", tabindex: 0, role: "img", "aria-label": title });
    this.element = h("figure", { class: "plot" }, h("figcaption", null, h("strong", null, title), this.said), this.canvas);
    this.at = null;
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("blur", () => this.point(null));
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -12, ArrowRight: 12 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.move(Math.max(0, Math.min(this.points - 1, (this.at ?? this.points - 1) + step)));
    });
  }

  /** Show lines of {name, values, tone}, one value per `stepS` seconds, the last one at `lastS` (seconds since the epoch). */
  show(lines, lastS, stepS) {
    this.lines = lines;
    this.lastS = lastS;
    this.stepS = stepS;
    // Until there are values for a whole hour, draw only the smallest round span that contains all values.
    const first = Math.min(...lines.map((each) => each.values.findIndex((value) => value !== null)).filter((at) => at >= 0));
    const longest = Math.max(...lines.map((each) => each.values.length));
    const needed = Number.isFinite(first) ? (longest - first) * stepS : 0;
    const span = [300, 600, 900, 1800].find((each) => each >= needed) ?? SPAN_S;
    this.points = Math.floor(span / stepS);
    this.lines = lines.map((each) => ({ ...each, values: each.values.slice(-this.points) }));
    this.at = this.at === null ? null : Math.min(this.at, this.points - 1);
    this.draw();
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    const values = this.lines.flatMap((each) => each.values.filter((value) => value !== null));
    if (!values.length) {
      put(this.canvas, h("p", { class: "empty" }, this.empty));
      return;
    }
    const top = rounded(Math.max(values.reduce((a, b) => Math.max(a, b), 0), 1));
    const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
    this.x = (at) => LEFT + (at / (this.points - 1)) * (width - LEFT - 8);
    this.y = y;
    const svg = s("svg", { width, height: HEIGHT, "aria-hidden": "true" });
    for (const share of [0, 0.5, 1]) {
      const at = y(top * share);
      svg.append(s("line", { class: "grid", x1: LEFT, x2: width - 8, y1: at, y2: at }));
      svg.append(s("text", { x: LEFT - 8, y: at + 4, "text-anchor": "end" }, this.unit(top * share)));
    }
    const ticks = width < 420 ? 2 : 4;
    for (let tick = 0; tick <= ticks; tick += 1) {
      const at = (tick / ticks) * (this.points - 1);
      const anchor = tick === 0 ? "start" : tick === ticks ? "end" : "middle";
      const shown = time((this.lastS - (this.points - 1 - at) * this.stepS) * 1000).slice(-8, -3);
      svg.append(s("text", { x: this.x(at), y: HEIGHT - 4, "text-anchor": anchor }, shown));
    }
    for (const each of this.lines) {
      const shift = this.points - each.values.length;
      svg.append(s("path", { class: `line tone${each.tone}`, d: line(each.values, (at) => this.x(at + shift), y) }));
    }
    this.cursor = s("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    svg.append(this.cursor);
    put(this.canvas, svg);
    this.move(this.at);
  }

  point(offset) {
    if (offset === null || !this.x) return this.move(null);
    const width = this.canvas.clientWidth;
    const share = (offset - LEFT) / (width - LEFT - 8);
    this.move(share < 0 || share > 1 ? null : Math.round(share * (this.points - 1)));
  }

  // Show the values at a point; without one the newest.
  move(at) {
    this.at = at;
    if (!this.cursor) return null;
    this.cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at !== null) {
      this.cursor.setAttribute("x1", this.x(at));
      this.cursor.setAttribute("x2", this.x(at));
    }
    const several = this.lines.length > 1;
    if (at === null && this.lines.length > 3) return put(this.said);
    const parts = this.lines.map((each) => {
      const found = at === null ? each.values.at(-1) : each.values[at - (this.points - each.values.length)];
      return h("span", { class: `tone${each.tone}` }, `${several ? `${each.name} ` : ""}${this.unit(found)}`);
    });
    const when = at === null ? null : h("span", { class: "when" }, time((this.lastS - (this.points - 1 - at) * this.stepS) * 1000));
    return put(this.said, when, parts);
  }
}

/** The last hour of one job. The first request loads all values, and later requests only new ones. */
export class Hour {
  constructor(job) {
    this.job = job;
    this.first = 0;
    this.step = 5;
    this.series = null;
  }

  /** Add a response of /history. */
  add(found) {
    const slots = SPAN_S / found.step_s;
    const count = found.series.in.length;
    const gap = this.series ? Math.max(0, (found.first_s - this.end) / found.step_s) : 0;
    if (!this.series || gap >= slots) this.series = found.series;
    else {
      for (const [name, values] of Object.entries(found.series)) {
        this.series[name] = [...this.series[name], ...Array(gap).fill(null), ...values].slice(-slots);
      }
    }
    this.end = found.first_s + count * found.step_s;
    this.step = found.step_s;
  }

  /** The start of the next request, in seconds since the epoch. */
  get since() {
    return this.series ? this.end - this.step : 0;
  }

  get lastS() {
    return this.end - this.step;
  }
}

export function legend(names) {
  return h("ul", { class: "legend" }, names.map((name, at) => h("li", { class: `tone${at % 8}` }, name)));
}


