// Topics: the last records of a topic, and new records.

import { follow, get, jobPath, part } from "./api.js";
import { heading } from "./app.js";
import { h, keyView, note, put, valueView, visible } from "./dom.js";
import { headOf, row } from "./job.js";
import { count, many, rate, time } from "./units.js";

const LAST = 50;
const KEPT = 200;

export function mount(root, at, signal) {
  const list = h("nav", { class: "chips", "aria-label": "Topics" });
  const card = h("section", { class: "card" });
  put(root, heading("Topics", at), list, card);
  open(at, list, card, signal);
}

async function open(at, list, card, signal) {
  put(card, note("loading", "Loading the topics."));
  try {
    const { topics } = await get(jobPath(at.job, "topics"), signal);
    const topic = at.parts[1] ?? topics.find((each) => each.role === "output")?.name ?? topics[0].name;
    put(
      list,
      topics.map((each) => h("a", { class: "chip", href: `#/topics/${part(at.job)}/${part(each.name)}`, "aria-current": each.name === topic ? "true" : null }, each.name, h("small", null, each.role))),
    );
    await tail(at, topic, card, signal);
  } catch (error) {
    if (!signal.aborted) put(card, note("broken", "The topics can't be shown.", error.message));
  }
}

async function tail(at, topic, card, signal) {
  const body = h("tbody");
  const state = h("span", { class: "hint", role: "status" });
  const following = h("button", { type: "button", "aria-pressed": "false" }, "Follow");
  const filter = h("input", { type: "search", placeholder: "only keys that contain", "aria-label": "Only keys that contain", autocomplete: "off", spellcheck: "false" });
  const said = h("small");
  const table = h("div", null, note("loading", "Reading the last records."));
  put(card, h("div", { class: "row spread" }, h("h2", null, topic), said), h("div", { class: "row" }, following, filter, state), table);
  let records = [];
  let running = null;
  signal.addEventListener("abort", () => running?.abort());

  const draw = (fresh = 0) => {
    const wanted = filter.value;
    const fits = records.filter((record) => !wanted || String(record.key ?? "").includes(wanted));
    if (!fits.length) {
      const what = records.length ? "None of these records has such a key. Follow the topic, or change the filter." : "Press Follow to see new records, or check whether its producer or job runs.";
      put(table, note("empty", records.length ? "No matching record." : "The topic is empty.", what));
      return;
    }
    put(
      body,
      fits.map((record) => {
        const line = row([
          ["Time", h("span", { class: "times" }, time(record.timestamp, true), h("small", null, `partition ${record.partition}, offset ${count(record.offset)}`)), "name"],
          ["Key", keyView(record), "key"],
          ["Value", [valueView(record.value), record.note ? h("small", null, visible(record.note)) : null, headers(record)], "value"],
        ]);
        if (records.indexOf(record) < fresh) line.classList.add("new");
        return line;
      }),
    );
    if (!table.contains(body)) put(table, h("div", { class: "scroll tall", tabindex: 0 }, h("table", null, headOf(["Time", "Key", "Value"], 3), body)));
    if (fresh) setTimeout(() => body.querySelectorAll(".new").forEach((line) => line.classList.remove("new")), 400);
  };
  const look = async () => {
    const found = await get(`${jobPath(at.job, "records", topic)}?last=${LAST}`, signal);
    records = found.records;
    put(said, `${many(found.partitions, "partition")}, ${count(found.offsets, "offsets")} (records and marks of transactions)`);
    draw();
  };
  filter.addEventListener("input", () => draw());
  following.addEventListener("click", () => {
    if (running) {
      running.abort();
      running = null;
      following.setAttribute("aria-pressed", "false");
      put(following, "Follow");
      put(state, "stopped");
      return;
    }
    running = new AbortController();
    following.setAttribute("aria-pressed", "true");
    put(following, "Stop");
    follow(jobPath(at.job, "tail", topic), {
      signal: running.signal,
      state: (text) => put(state, text),
      on: (_name, { records: came, count: number, seconds }) => {
        records = [...came, ...records].slice(0, KEPT);
        const left = number > came.length ? `; ${count(came.length)} of ${count(number)} are shown` : "";
        put(state, `following, ${rate(number / seconds)}${left}`);
        draw(came.length);
      },
    }).catch((error) => put(table, note("broken", "The topic can't be followed.", error.message)));
  });
  try {
    await look();
  } catch (error) {
    if (!signal.aborted) put(table, note(error.status === 404 ? "empty" : "broken", "The topic can't be read.", error.message));
  }
}

function headers(record) {
  const own = Object.entries(record.headers ?? {});
  if (!own.length) return null;
  return h("details", null, h("summary", null, many(own.length, "header")), h("div", { class: "fields" }, own.map(([name, value]) => h("span", { class: "field" }, h("i", null, visible(name)), h("b", null, visible(value ?? "null"))))));
}
