// A drawing of a job's topology: topics, steps, stores and repartitions, in the direction of the records.

import { s, say } from "./dom.js";
import { layout } from "./layout.js";
import { bytes, rate, short } from "./units.js";

function shape(box) {
  const { x, y, width: w, height } = box;
  if (box.node.kind === "store") {
    const rim = 7;
    return [
      s("path", { class: "body", d: `M${x} ${y + rim}v${height - 2 * rim}a${w / 2} ${rim} 0 0 0 ${w} 0v-${height - 2 * rim}` }),
      s("ellipse", { class: "body", cx: x + w / 2, cy: y + rim, rx: w / 2, ry: rim }),
    ];
  }
  if (box.node.kind === "repartition") {
    const cut = 14;
    return s("path", { class: "body", d: `M${x + cut} ${y}h${w - 2 * cut}l${cut} ${height / 2}l-${cut} ${height / 2}h-${w - 2 * cut}l-${cut} -${height / 2}z` });
  }
  return s("rect", { class: "body", x, y, width: w, height, rx: box.node.kind === "topic" ? height / 2 : 6 });
}

const fitted = (text, width) => {
  const room = Math.floor((width - 20) / 7.2);
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
};

/** A drawing that is created once and then updated. Without an application, it shows a plan that does not run, without links. */
export class TopologyPicture {
  constructor(graph, job, application) {
    this.graph = graph;
    this.job = job;
    this.application = application;
    this.element = document.createElement("div");
    this.element.className = "topology";
    this.tall = null;
    this.live = null;
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  draw() {
    const room = this.element.clientWidth;
    const tall = room < 640;
    if (!room) return;
    if (tall === this.tall) {
      this.fit(room);
      return;
    }
    this.tall = tall;
    const { boxes, frames, passed, width, height } = layout(this.graph, tall);
    const title = `Topology of ${this.job}: ${this.graph.nodes.length} nodes`;
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": title });
    svg.append(
      s("defs", null, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, s("path", { d: "M0 0L8 4L0 8z" }))),
    );
    for (const frame of frames) {
      svg.append(s("rect", { class: "frame", x: frame.x, y: frame.y, width: frame.width, height: frame.height, rx: 10 }));
      svg.append(s("text", { class: "frame-title", x: tall ? frame.x + frame.width - 2 : frame.x + 2, y: frame.y - 6, "text-anchor": tall ? "end" : "start" }, `sub-topology ${frame.stage.name}`));
    }
    this.arrows = this.graph.arrows.map((arrow) => this.arrow(svg, arrow, boxes, passed.get(arrow) ?? []));
    this.labels = new Map();
    for (const box of boxes.values()) svg.append(this.box(box));
    for (const each of this.arrows) if (each.label) svg.append(each.label);
    this.svg = svg;
    this.size = { width, height };
    this.fit(room);
    this.element.replaceChildren(svg);
    if (this.live) this.show(this.live);
  }

  // A drawing that is a little too wide is scaled down. A much wider one is scrolled.
  fit(room) {
    const scale = Math.max(0.7, Math.min(1, room / this.size.width));
    this.svg.setAttribute("width", this.size.width * scale);
    this.svg.setAttribute("height", this.size.height * scale);
  }

  box(box) {
    const { node } = box;
    const middle = box.x + box.width / 2;
    const lines = node.kind === "step" ? 1 : 2;
    const top = box.y + box.height / 2 + (lines === 1 ? 5 : node.kind === "store" ? 4 : -2);
    const first = s("text", { class: "label", x: middle, y: top, "text-anchor": "middle" }, fitted(node.label, box.width));
    const second = lines === 2 ? s("text", { class: "detail", x: middle, y: top + 16, "text-anchor": "middle" }, node.kind === "store" ? "" : node.detail) : null;
    if (second) this.labels.set(node.id, second);
    const name = { topic: "Topic", step: "Step", store: "Store", repartition: "Repartition" }[node.kind];
    const parts = [s("title", null, `${name} ${node.label}${node.detail ? `: ${node.detail}` : ""}`), shape(box), first, second].filter(Boolean);
    const target = this.target(node);
    return s(target ? "a" : "g", { class: `node ${node.kind}`, href: target, "data-node": node.id }, parts);
  }

  target(node) {
    if (!this.application) return null;
    const job = encodeURIComponent(this.job);
    if (node.kind === "store") return `#/stores/${job}/${encodeURIComponent(node.label)}`;
    if (node.kind === "topic") return `#/topics/${job}/${encodeURIComponent(node.label)}`;
    if (node.kind === "repartition") return `#/topics/${job}/${encodeURIComponent(`${this.application}-${node.label}-repartition`)}`;
    return null;
  }

  arrow(svg, arrow, boxes, passed) {
    const from = boxes.get(arrow.tail);
    const to = boxes.get(arrow.head);
    const stored = arrow.head.startsWith("store ");
    const down = this.tall !== stored;
    const out = (box) => (down ? [box.x + box.width / 2, box.y + box.height] : [box.x + box.width, box.y + box.height / 2]);
    const into = (box) => (down ? [box.x + box.width / 2, box.y] : [box.x, box.y + box.height / 2]);
    const curve = (start, end) => {
      const bend = Math.max(14, Math.abs(down ? end[1] - start[1] : end[0] - start[0]) / 2);
      return down
        ? `C${start[0]} ${start[1] + bend} ${end[0]} ${end[1] - bend} ${end}`
        : `C${start[0] + bend} ${start[1]} ${end[0] - bend} ${end[1]} ${end}`;
    };
    const stops = [...passed, to];
    const ways = stops.map((box, at) => curve(out(at ? stops[at - 1] : from), into(box)) + (box === to ? "" : `L${out(box)}`));
    // If an arrow passes a column, its rate is placed on the straight part there, otherwise in the middle.
    const [start, end] = passed.length ? [into(passed[0]), out(passed[0])] : [out(from), into(to)];
    const path = s("path", {
      class: stored ? "arrow stored" : "arrow",
      d: `M${out(from)}${ways.join("")}`,
      "marker-end": stored ? null : "url(#tip)",
    });
    svg.append(path);
    let label = null;
    if (arrow.rate && !stored) {
      label = s("text", { class: "rate", x: (start[0] + end[0]) / 2, y: (start[1] + end[1]) / 2 - (down ? -4 : 6), "text-anchor": "middle", "data-rate": `${arrow.tail} > ${arrow.head}` });
    }
    return { arrow, path, label };
  }

  /** Show the rates of arrows, the sizes of stores, and the lags of topics. */
  show(live) {
    this.live = live;
    if (!this.arrows) return;
    for (const { arrow, path, label } of this.arrows) {
      const found = arrow.rate ? live.rates[arrow.rate]?.[arrow.name] : undefined;
      if (label) {
        say(label, rate(found));
        label.classList.toggle("still", !found);
      }
      path.classList.toggle("flows", Boolean(found));
    }
    for (const [id, text] of this.labels) {
      const [kind, ...rest] = id.split(" ");
      const name = rest.join(" ");
      if (kind === "store") {
        const held = live.stores[name];
        say(text, held ? `${short(held.rows, "rows")} · ${bytes(held.bytes)}` : "not reported yet");
      } else if (kind === "topic" && live.lags[name] !== undefined) {
        say(text, `lag ${short(live.lags[name], "rec")}`);
      }
    }
  }
}
