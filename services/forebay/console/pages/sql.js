// SQL: a statement, its rows as they arrive, the history of statements, and plans as steps and as a drawing.

import { Failed, follow, get, jobPath, sleep } from "./api.js";
import { heading } from "./app.js";
import { h, note, put, visible } from "./dom.js";
import { TopologyPicture } from "./topology.js";
import { count, ms } from "./units.js";

const HISTORY = "forebay-sql-history";
const KEPT = 30;
const SHOWN = 500;

export function mount(root, at, signal) {
  const body = h("div", { class: "card" }, note("loading", "Checking whether this job is written in SQL."));
  put(root, heading("SQL", at), body);
  begin(at, body, signal);
}

async function begin(at, body, signal) {
  try {
    const found = await get(`${jobPath(at.job)}?topology=1`, signal);
    if (!found.sql) {
      const stores = h("a", { href: `#/stores/${encodeURIComponent(at.job)}` }, "Browse its stores");
      put(body, note("empty", `${at.job} is not written in SQL.`, stores, ", or choose a job of SQL statements or views above."));
      return;
    }
    box(at, body, signal);
  } catch (error) {
    if (!signal.aborted) put(body, note("broken", "The job can't be queried.", error.message));
  }
}

function remembered() {
  try {
    const found = JSON.parse(localStorage.getItem(HISTORY) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

function box(at, body, signal) {
  const text = h("textarea", { rows: 5, spellcheck: "false", "aria-label": "Statement", placeholder: "SELECT * FROM ... WHERE ... ;" });
  const run = h("button", { type: "submit", class: "primary" }, "Run");
  const stop = h("button", { type: "button", disabled: true }, "Stop");
  const earlier = h("label", { class: "check" }, h("input", { type: "checkbox" }), "push queries begin with the existing records");
  const state = h("span", { class: "hint", role: "status" }, "Ctrl+Enter runs it");
  const results = h("div");
  const history = h("ul", { class: "history" });
  const examples = ["SHOW TABLES;", "SHOW STREAMS;", "SHOW QUERIES;", "EXPLAIN ALL;"];
  const form = h(
    "form",
    null,
    text,
    h("div", { class: "row spread" }, h("div", { class: "row" }, run, stop, state), h("div", { class: "row" }, examples.map((each) => h("button", { type: "button", class: "small", onclick: () => load(each) }, each.replace(";", ""))))),
    earlier,
  );
  put(body, form);
  const past = h("section", { class: "card" }, h("details", null, h("summary", null, "History"), history));
  const out = h("section", { class: "card" }, results);
  body.after(out, past);
  put(results, note("empty", "No statement was run yet.", "SELECT reads a table as it is now; with EMIT CHANGES it follows every change."));
  let running = new AbortController();
  signal.addEventListener("abort", () => running.abort());

  const load = (statement) => {
    text.value = statement;
    go();
  };
  const remember = (statement) => {
    const kept = [statement, ...remembered().filter((each) => each !== statement)].slice(0, KEPT);
    localStorage.setItem(HISTORY, JSON.stringify(kept));
    list();
  };
  const list = () => {
    const kept = remembered();
    put(history, kept.length ? kept.map((each) => h("li", null, h("button", { type: "button", title: each, onclick: () => load(each) }, each.replace(/\s+/g, " ")))) : h("li", { class: "hint" }, "Statements that you run are kept here, in this browser."));
  };
  const go = async () => {
    const statement = text.value.trim();
    if (!statement) {
      put(results, note("empty", "There is no statement.", "Enter a statement, or press an example."));
      text.focus();
      return;
    }
    running.abort();
    running = new AbortController();
    const mine = running;
    remember(statement);
    stop.disabled = false;
    put(state, "running");
    const view = new Rows(results, (total) => mine.signal.aborted || put(state, `running, ${total === 1 ? "1 row" : `${count(total)} rows`} so far`));
    const begun = performance.now();
    try {
      await answer(at.job, statement, earlier.firstChild.checked, view, mine.signal, (said) => put(state, said));
      put(state, `${view.total === 1 ? "1 row" : `${count(view.total)} rows`}${view.more ? ", there are more" : ""} in ${ms(performance.now() - begun)}`);
    } catch (error) {
      if (mine.signal.aborted) put(state, `stopped after ${count(view.total)} rows`);
      else {
        put(state, "failed");
        put(results, note("broken", "The statement was refused.", visible(error.message)));
      }
    }
    if (mine === running) stop.disabled = true;
  };
  stop.addEventListener("click", () => running.abort());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      go();
    }
  });
  list();
}

// A push query ends with its connection. It is not restarted automatically, because rows would be shown twice.
async function answer(job, sql, begins, view, signal, say) {
  for (;;) {
    try {
      await follow(jobPath(job, "q", "sql"), {
        once: true,
        signal,
        state: (text) => say(text === "following" ? "running" : text),
        options: { method: "POST", body: JSON.stringify({ sql, from_beginning: begins }), headers: { "Content-Type": "application/json" } },
        on: (name, data) => view.take(name, data),
      });
      // Servers of earlier releases send SHOW, DESCRIBE and EXPLAIN without an end.
      const complete = view.ended || (view.columns && !/^\s*(set\b[^;]*;\s*)*select\b/i.test(sql));
      if (!complete && !signal.aborted) throw new Failed(0, "the connection ended before the result was complete: run the statement again");
      return;
    } catch (error) {
      if (!(error instanceof Failed) || error.status !== 503 || signal.aborted) throw error;
      say(error.message);
      await sleep(1000, signal);
      if (signal.aborted) throw error;
    }
  }
}

class Rows {
  constructor(root, onCount) {
    this.root = root;
    this.onCount = onCount;
    this.total = 0;
    this.more = false;
    this.ended = false;
    this.waiting = [];
    this.body = h("tbody");
    put(root, note("loading", "Waiting for rows."));
  }

  take(name, data) {
    if (name === "graph") {
      const picture = new TopologyPicture(data, "the plan", null);
      this.root.prepend(picture.element, h("p", { class: "hint" }, "Sub-topologies, steps and stores that would compute the result. EXPLAIN does not run them."));
    } else if (name === "columns") {
      this.columns = data.map((each) => each.name);
      this.plan = this.columns.length === 1 && this.columns[0] === "plan" ? h("ol", { class: "plan" }) : null;
      const head = h("tr", null, data.map((each) => h("th", { scope: "col" }, each.name, each.type ? h("small", null, each.type) : null)));
      put(this.root, this.plan ?? h("div", { class: "scroll tall", tabindex: 0 }, h("table", null, h("thead", null, head), this.body)));
      if (!data.length) put(this.root, note("empty", "There are none."));
    } else if (name === "row" || name === "tombstone") {
      this.total += 1;
      if (this.plan) this.plan.append(h("li", null, visible(data.plan)));
      else this.later(data, name === "tombstone");
    } else if (name === "end") {
      this.ended = true;
      this.more = Boolean(data.more);
      if (!this.total && this.columns?.length) put(this.root, note("empty", "No rows.", "Nothing matched as of the job's last commit."));
    }
  }

  // Rows may arrive at a high rate: draw once per frame, newest first, and keep the latest SHOWN rows.
  later(data, deleted) {
    this.waiting.push([data, deleted]);
    if (this.waiting.length > SHOWN) this.waiting.shift();
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      for (const [row, gone] of this.waiting) {
        const cells = this.columns.map((name) => h("td", { "data-title": name }, cell(row[name], gone && !(name in row))));
        this.body.prepend(h("tr", null, cells));
      }
      this.waiting = [];
      this.onCount(this.total);
      while (this.body.children.length > SHOWN) this.body.lastChild.remove();
    });
  }
}

function cell(value, deleted) {
  if (deleted) return h("span", { class: "null" }, "deleted");
  if (value === null || value === undefined) return h("span", { class: "null" }, "null");
  return visible(typeof value === "object" ? JSON.stringify(value) : String(value));
}

