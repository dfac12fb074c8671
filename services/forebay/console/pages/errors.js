// Records that could not be processed and late records: the reason, the origin, and how to send them again.

import { get, jobPath } from "./api.js";
import { heading } from "./app.js";
import { command, h, keyView, note, put, valueView, visible } from "./dom.js";
import { headOf, row } from "./job.js";
import { count, many, ms, time } from "./units.js";

const LAST = 200;
const SHOWN = 25;
const SIDES = { errors: "Errors", late: "Late" };

export function mount(root, at, signal) {
  const side = at.parts[1] === "late" ? "late" : "errors";
  const again = h("button", { type: "button", class: "again" }, "Reload");
  const tabs = h(
    "nav",
    { class: "chips", "aria-label": "Kinds" },
    Object.entries(SIDES).map(([name, title]) => h("a", { class: "chip", href: `#/errors/${encodeURIComponent(at.job)}/${name}`, "aria-current": name === side ? "true" : null }, title)),
  );
  const what = h("div", { class: "stack" });
  put(root, heading("Errors and late records", at), h("div", { class: "row spread" }, tabs, again), what);
  const look = async () => {
    again.disabled = true;
    put(what, note("loading", "Reading the last records."));
    try {
      const { topics } = await get(jobPath(at.job, "topics"), signal);
      const { name } = topics.find((each) => each.role === side);
      const found = await get(`${jobPath(at.job, "records", name)}?last=${LAST}`, signal);
      put(what, side === "late" ? late(name, found) : errors(at.job, name, found));
    } catch (error) {
      if (!signal.aborted) put(what, note(error.status === 404 ? "empty" : "broken", "The records can't be read.", error.message));
    }
    again.disabled = false;
  };
  again.addEventListener("click", look);
  look();
}

// Reasons that differ only in names and numbers are counted together.
const alike = (text) => text.replace(/[\w.-]*\d[\w.-]*/g, "…");
const of = (record, name) => record.headers?.[name] ?? "?";

function errors(job, topic, found) {
  if (!found.records.length) return note("empty", "No record failed.", `Failed records are written to ${topic}, unchanged, with the reason.`);
  const reasons = new Map();
  for (const record of found.records) {
    const reason = `${of(record, "error.stage")}: ${of(record, "error.class")}: ${alike(of(record, "error.message"))}`;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  const sorted = [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 12);
  const rows = found.records.map((record) =>
    row([
      ["Time", h("span", { class: "times" }, time(Number(of(record, "error.timestamp"))), h("small", null, `${of(record, "error.topic")}-${of(record, "error.partition")}:${of(record, "error.offset")}`)), "name"],
      ["Why", [h("b", null, visible(of(record, "error.message"))), h("small", null, `${of(record, "error.stage")} · ${of(record, "error.class")}`)], "value"],
      ["Record", [h("div", null, keyView(record)), valueView(record.value), decoded(record), headers(record, "error.")], "value"],
    ]),
  );
  return [
    h(
      "section",
      { class: "card" },
      h("h2", null, "Why"),
      h("ul", { class: "counts" }, sorted.map(([reason, number]) => h("li", null, h("b", null, many(number, "record")), h("span", null, visible(reason))))),
      h("p", { class: "hint" }, `Of the last ${count(found.records.length)} records of ${topic}.`),
    ),
    h(
      "section",
      { class: "card" },
      h("h2", null, "Send them again"),
      "Once the cause is fixed, send each record back to its input topic, unchanged and exactly once. The first command shows what would be sent, and which command sends it.",
      command(`forebay errors replay ${job} --dry-run`),
      command(`forebay errors replay ${job}`),
    ),
    list(rows, ["Time", "Why", "Record"]),
  ];
}

function late(topic, found) {
  if (!found.records.length) return note("empty", "No record was late.", `Late records are written to ${topic}, unchanged, with their lateness.`);
  const rows = found.records.map((record) =>
    row([
      ["Time", h("span", { class: "times" }, time(record.timestamp)), "name"],
      ["Late by", [h("b", null, ms(Number(of(record, "late.by_ms")))), h("small", null, `stream time was ${time(Number(of(record, "late.stream_time")))}`)], "number"],
      ["Record", [h("div", null, keyView(record)), valueView(record.value), decoded(record), headers(record, "late.")], "value"],
    ]),
  );
  return [
    h("p", { class: "hint" }, `The last ${count(found.records.length)} records of ${topic}. They arrived after the grace period of their window, so they would be late again if they were sent again. With a longer grace period (--set), the job accepts such records from then on.`),
    list(rows, ["Time", "Late by", "Record"]),
  ];
}

function list(rows, names) {
  const body = h("tbody", null, rows.slice(0, SHOWN));
  const table = h("table", null, headOf(names, names[1] === "Late by" ? 1 : 3), body);
  if (rows.length <= SHOWN) return h("section", { class: "card flush" }, table);
  const more = h("button", { type: "button" }, `Show ${count(rows.length - SHOWN)} more`);
  more.addEventListener("click", () => {
    body.append(...rows.slice(SHOWN));
    more.remove();
  });
  return [h("section", { class: "card flush" }, table), h("div", { class: "row" }, more)];
}
const decoded = (record) => (record.note ? h("small", null, visible(record.note)) : null);

function headers(record, prefix) {
  const own = Object.entries(record.headers ?? {});
  if (!own.length) return null;
  const others = own.filter(([name]) => !name.startsWith(prefix)).length;
  return h(
    "details",
    null,
    h("summary", null, `${many(own.length, "header")}${others ? `, ${count(others)} of the record's own` : ""}`),
    h("div", { class: "fields" }, own.map(([name, value]) => h("span", { class: "field" }, h("i", null, visible(name)), h("b", null, visible(value ?? "null"))))),
  );
}
