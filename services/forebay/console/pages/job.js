// One job: statistics, topology with rates, stores, tasks, its last hour.

import { get, jobPath, poll } from "./api.js";
import { heading } from "./app.js";
import { h, note, put } from "./dom.js";
import { STATES, badge, refresh, tile, trouble } from "./jobs.js";
import { Hour, Plot } from "./plot.js";
import { TopologyPicture } from "./topology.js";
import { ago, bytes, count, many, ms, percent, rate, short, time } from "./units.js";

const LOOK_MS = 2000;
const HISTORY_MS = 5000;

export function mount(root, at, signal) {
  const state = h("div", { class: "state" });
  const tiles = h("div", { class: "tiles" });
  const picture = h("div");
  const restores = h("div");
  const stores = h("div");
  const tasks = h("div");
  const events = h("div");
  const plots = {
    in: new Plot("Records read", rate),
    out: new Plot("Results written", rate),
    lag: new Plot("Lag", (value) => short(value, "rec")),
    p50: new Plot("Latency p50", ms, "no output in the last minute: nothing to measure"),
    p99: new Plot("Latency p99", ms, "no output in the last minute: nothing to measure"),
    errors: new Plot("Errors and late records", rate),
  };
  put(
    root,
    heading(at.job, at),
    state,
    tiles,
    restores,
    h("section", { class: "card" }, h("h2", null, "Topology"), picture),
    h("section", { class: "card" }, h("h2", null, "Stores"), stores),
    h("section", { class: "card" }, h("h2", null, "The last hour"), h("div", { class: "plots" }, Object.values(plots).map((plot) => plot.element))),
    h("section", { class: "card" }, h("h2", null, "Tasks"), tasks),
    h("section", { class: "card" }, h("h2", null, "Restarts and states"), events),
  );
  put(picture, note("loading", "Loading the topology."));
  const hours = new Map([[at.job, new Hour(at.job)]]);
  let drawn = null;
  let topology = null;

  poll(
    async () => {
      try {
        const found = await get(`${jobPath(at.job)}${topology ? "" : "?topology=1"}`, signal);
        topology ??= found.topology;
        if (!drawn) {
          drawn = new TopologyPicture(topology, at.job, found.job.application);
          put(picture, drawn.element, h("p", { class: "hint" }, "Click a store or a topic to open it. An arrow without a rate shows look-ups."));
        }
        drawn.show(found);
        head(found.job, state, tiles);
        put(restores, restoreBars(found.restores));
        put(stores, storeTable(topology, found, at.job));
        put(tasks, taskTable(found));
        put(events, eventTable(found));
      } catch (error) {
        if (!signal.aborted) put(state, note("broken", "This job can't be shown.", error.message));
      }
    },
    LOOK_MS,
    signal,
  );
  poll(() => refresh(hours, plots, h("div"), signal), HISTORY_MS, signal);
}

function head(job, state, tiles) {
  put(state, h("p", null, badge(job), " ", job.summary), trouble(job));
  const side = (name, total, detail) => tile(name, short(total, "rec"), total ? [h("a", { href: `#/errors/${encodeURIComponent(job.name)}/${name.toLowerCase()}` }, "see them"), detail] : "none so far", total && name === "Errors" ? "warn" : "");
  const failing = job.errors_share ? `, ${rate(job.errors)} now: ${percent(job.errors_share)} of the records read` : "";
  put(
    tiles,
    tile("Read", rate(job.in), "from its inputs"),
    tile("Written", rate(job.out), "results"),
    tile("Lag", short(job.lag, "rec"), job.lag === null ? "not reported" : stopped(job) ? "records waiting, according to the broker" : "records waiting"),
    tile("Latency p50", ms(job.p50), `p99 ${ms(job.p99)}, last minute`),
    side("Errors", job.errors_total, failing),
    side("Late", job.late_total, ""),
    tile("Stream time", time(job.stream_time_ms), job.stream_time_ms ? ago(job.stream_time_ms) : "no record yet"),
  );
}

function storeTable(topology, found, job) {
  const all = topology.stages.flatMap((stage) => stage.stores.map((store) => ({ ...store, stage })));
  if (!all.length) return note("empty", "This job keeps no stores.");
  const behind = (stage) => {
    const of = found.tasks.filter((task) => task.stage === stage.number);
    return of.length ? of.reduce((sum, task) => sum + (task.changelog_lag_rows ?? 0), 0) : null;
  };
  const rows = all.map((store) => {
    const held = found.stores[store.name];
    return row([
      ["Store", h("a", { href: `#/stores/${encodeURIComponent(job)}/${encodeURIComponent(store.name)}` }, store.name), "name"],
      ["Holds", [store.record, h("small", null, store.kind)], ""],
      ["Rows", count(held?.rows, "rows"), "number"],
      ["Size", bytes(held?.bytes), "number"],
      ["Puts", rate(found.rates.puts?.[store.name], "rows/s"), "number"],
      ["Reads by key", rate(found.rates.gets?.[store.name], "rows/s"), "number"],
      ["Behind the snapshot", store.changelog ? short(behind(store.stage), "rows") : "no changelog", "number"],
    ]);
  });
  return [
    h("table", null, headOf(["Store", "Holds", "Rows", "Size", "Puts", "Reads by key", "Behind the snapshot"], 2), h("tbody", null, rows)),
    h("p", { class: "hint" }, "Behind the snapshot: rows in the changelogs of the store's sub-topology that the next start would read."),
  ];
}

function taskTable(found) {
  if (!found.tasks.length && !found.reports.length) {
    const why = found.reports_error || "The job reports its tasks once they have started.";
    return note(found.reports_error ? "broken" : "empty", "No task has reported yet.", why);
  }
  const reports = new Map(found.reports.map((each) => [`${each.stage}-${each.task}`, each]));
  const tasks = found.tasks.length ? found.tasks : found.reports;
  const workers = new Set(found.reports.map((each) => each.worker));
  const rows = tasks.map((task) => {
    const report = reports.get(`${task.stage}-${task.task}`);
    return row([
      ["Task", `${task.stage}-${task.task}`, "name"],
      ["Worker", report ? `pid ${report.worker}` : "–", "number"],
      ["Loop seen", report ? ago(report.told_ms, found.at_ms) : "–", "number"],
      ["Lease", report?.lease ? `${count(report.lease)}, for ${ms(Math.max(0, found.at_ms - report.lease_planned_ms))}` : "–", "number"],
      ["Runs for", report ? ms(found.at_ms - report.opened_ms) : "–", "number"],
      ["Commits", count(report?.commits), "number"],
      ["Stream time", time(task.stream_time_s === undefined ? null : task.stream_time_s * 1000), "number"],
      ["Rows", count(task.rows, "rows"), "number"],
      ["Behind the snapshot", short(task.changelog_lag_rows ?? report?.tail_rows, "rows"), "number"],
      ["Restored at its start", restored(report), "number"],
    ]);
  });
  const names = ["Task", "Worker", "Loop seen", "Lease", "Runs for", "Commits", "Stream time", "Rows", "Behind the snapshot", "Restored at its start"];
  return [
    h("p", { class: "hint" }, `${many(tasks.length, "task")} on ${many(workers.size, "worker process").replace(/processs$/, "processes")}. A lease lasts a checkpoint interval; a loop continues from lease to lease.`),
    found.reports_error ? note("broken", "A group waits.", found.reports_error) : null,
    h("div", { class: "scroll tall", tabindex: 0, "aria-label": "Tasks" }, h("table", { class: "flat" }, headOf(names, 1), h("tbody", null, rows))),
  ];
}

const stopped = (job) => job.state === "down" || job.state === "ended";
const EVENTS = { query: "query restarted", worker: "worker replaced" };

function eventTable(found) {
  if (!found.events.length) return note("empty", "Nothing has happened since the console started.");
  const rows = found.events.map((event) =>
    row([
      ["When", [time(event.at_ms), h("small", null, ago(event.at_ms, found.at_ms))], "name"],
      ["What", EVENTS[event.what] ?? STATES[event.what] ?? event.what, ""],
      ["Reason", event.reason, ""],
    ]),
  );
  return h("div", { class: "scroll tall", tabindex: 0, "aria-label": "Restarts and states" }, h("table", { class: "flat" }, headOf(["When", "What", "Reason"], 3), h("tbody", null, rows)));
}

// Progress of the tasks that read their changelogs before the job continues.
function restoreBars(restores) {
  if (!restores.length) return null;
  const bars = restores.map(({ topic, partition, offset, end }) =>
    h(
      "label",
      { class: "restore" },
      h("span", { class: "name" }, `${topic} ${partition}`),
      h("progress", { max: Math.max(1, end), value: offset }),
      h("span", { class: "number" }, `${short(offset, "offsets")} of ${short(end, "offsets")}`),
    ),
  );
  const hint = "Progress by partition of the changelogs. The job continues once all partitions are read to their ends.";
  return h("section", { class: "card" }, h("h2", null, "Restoring"), h("div", { class: "restores" }, bars), h("p", { class: "hint" }, hint));
}

function restored(report) {
  if (!report) return "–";
  if (!report.restored_rows) return "nothing";
  return `${short(report.restored_rows, "rows")} in ${ms(report.restore_seconds * 1000)}`;
}

export const headOf = (names, left) => h("thead", null, h("tr", null, names.map((name, at) => h("th", { scope: "col", class: at < left ? null : "number" }, name))));
export const row = (cells) => h("tr", null, cells.map(([title, content, kind]) => h("td", { "data-title": title, class: kind }, h("div", null, content))));
