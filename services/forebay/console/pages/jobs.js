// All jobs: one line per job, and the last hour.

import { get, jobPath, poll } from "./api.js";
import { h, note, put } from "./dom.js";
import { Hour, Plot, legend, spark } from "./plot.js";
import { ago, bytes, count, ms, percent, rate, short } from "./units.js";

const LOOK_MS = 2000;
const HISTORY_MS = 10000;

export const STATES = { running: "running", starting: "starting", trouble: "waiting", down: "down", ended: "ended", never: "never started" };

export function badge(job) {
  return h("span", { class: `badge ${job.state}`, title: job.reason }, STATES[job.state] ?? job.state);
}

/** The reason why a job does not run, and since when. Null for a running job. */
export function trouble(job) {
  if (job.state === "running") return null;
  return h("p", { class: `reason ${job.state}` }, job.reason + "." + since(job));
}

function since(job) {
  if (job.state === "ended") return ` Ended ${ago(job.since_ms)} with exit code ${job.exit_code}.`;
  if (job.state === "down") return job.seen_ms ? ` Seen last ${ago(job.seen_ms)}.` : "";
  return job.state === "trouble" ? ` Began ${ago(job.since_ms)}.` : "";
}

const COLUMNS = [
  ["Job", (job) => [h("a", { href: `#/job/${encodeURIComponent(job.name)}` }, job.name), badge(job), trouble(job)]],
  ["In", (job) => [spark(job.trend, "records read per second in the last five minutes"), h("b", null, rate(job.in))]],
  ["Out", (job) => rate(job.out)],
  ["Lag", (job) => short(job.lag, "rec")],
  ["Latency p50", (job) => ms(job.p50)],
  ["Latency p99", (job) => ms(job.p99)],
  ["Errors", (job) => [tally(job.errors_total, job, "errors"), job.errors_share ? h("small", null, `${percent(job.errors_share)} of records`) : null]],
  ["Late", (job) => tally(job.late_total, job, "late")],
  ["State", (job) => [count(job.rows, "rows"), h("small", null, bytes(job.bytes))]],
];

function tally(value, job, side) {
  if (!value) return short(value, "rec");
  return h("a", { href: `#/errors/${encodeURIComponent(job.name)}/${side}`, class: side }, short(value, "rec"));
}

function table(jobs) {
  const head = h("tr", null, COLUMNS.map(([title], at) => h("th", { scope: "col", class: at ? "number" : null }, title)));
  const rows = jobs.map((job) =>
    h("tr", { class: job.state }, COLUMNS.map(([title, cell], at) => h("td", { "data-title": title, class: at ? "number" : "name" }, h("div", null, cell(job))))),
  );
  return h("table", { class: "jobs" }, h("thead", null, head), h("tbody", null, rows));
}

const sum = (jobs, name) => {
  const known = jobs.map((job) => job[name]).filter((value) => value !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) : null;
};

export function mount(root, _parameters, signal) {
  const tiles = h("div", { class: "tiles" });
  const list = h("section", { class: "card flush" });
  const plots = {
    in: new Plot("Records read", rate),
    lag: new Plot("Lag", (value) => short(value, "rec")),
    p99: new Plot("Latency p99", ms, "no output in the last minute: nothing to measure"),
    errors: new Plot("Errors and late records", rate),
  };
  const names = h("div");
  const hour = h("section", { class: "card" }, h("h2", null, "The last hour"), names, h("div", { class: "plots" }, Object.values(plots).map((plot) => plot.element)));
  put(root, h("h1", null, "Jobs"), tiles, list, hour);
  const hours = new Map();
  put(list, note("loading", "Loading the jobs."));

  poll(
    async () => {
      try {
        const { jobs } = await get("api/jobs", signal);
        if (!jobs.length) {
          put(list, note("empty", "No job is watched.", "Start the console with the jobs to watch: forebay console SERVICE=http://HOST:PORT."));
          return;
        }
        // The table is replaced: give the focus to the same link again.
        const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
        put(list, table(jobs));
        if (focused) [...list.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
        const running = jobs.filter((job) => job.state === "running").length;
        put(
          tiles,
          tile("Jobs", `${running} of ${jobs.length}`, "running", running < jobs.length ? "warn" : ""),
          tile("Read", rate(sum(jobs, "in")), "by all jobs"),
          tile("Written", rate(sum(jobs, "out")), "results"),
          tile("Waiting", short(sum(jobs, "lag"), "rec"), "lag of all inputs"),
          tile("State", bytes(sum(jobs, "bytes")), count(sum(jobs, "rows"), "rows")),
        );
        for (const job of jobs) if (!hours.has(job.name)) hours.set(job.name, new Hour(job.name));
      } catch (error) {
        if (!signal.aborted) put(list, note("broken", "The jobs can't be shown.", error.message));
      }
    },
    LOOK_MS,
    signal,
  );
  poll(() => refresh(hours, plots, names, signal), HISTORY_MS, signal);
  const early = setInterval(() => {
    if (hours.size) {
      clearInterval(early);
      refresh(hours, plots, names, signal);
    }
  }, 50);
  signal.addEventListener("abort", () => clearInterval(early));
}

export function tile(title, value, detail, kind = "") {
  return h("div", { class: `tile ${kind}` }, h("span", null, title), h("b", null, value), h("small", null, detail));
}

/** Request the new values of some jobs' last hour, and draw them. */
export async function refresh(hours, plots, names, signal) {
  try {
    await Promise.all(
      [...hours.values()].map(async (hour) => hour.add(await get(`${jobPath(hour.job, "history")}?since=${hour.since}`, signal))),
    );
  } catch {
    return; // the list above shows the error
  }
  const all = [...hours.values()];
  if (!all.length) return;
  if (all.length > 1) put(names, legend(all.map((hour) => hour.job)));
  for (const [series, plot] of Object.entries(plots)) {
    const lines = all.map((hour, at) => ({ name: hour.job, tone: at % 8, values: valuesOf(hour, series) }));
    plot.show(lines, all[0].lastS, all[0].step);
  }
}

function valuesOf(hour, series) {
  if (series !== "errors") return hour.series[series];
  return hour.series.errors.map((value, at) => (value === null ? null : value + (hour.series.late[at] ?? 0)));
}

