// Stores: look up a key, a prefix, a range, windows, sessions, versions; follow a key live.

import { follow, get, jobPath, part, sleep } from "./api.js";
import { heading } from "./app.js";
import { h, keyView, note, put, valueView } from "./dom.js";
import { headOf, row } from "./job.js";
import { count, many, ms, time } from "./units.js";

const LIMIT = 100;
const KEPT = 60;

// Query parameters by type of store: for one key, and for all keys (docs/queries.md).
const KEYS = { one: [], all: ["prefix", "range", "order"] };
const KINDS = {
  "key-value": KEYS,
  timestamped: KEYS,
  ttl: KEYS,
  lru: KEYS,
  window: { one: ["times", "order"], all: ["times", "range", "order"], times: "Window starts" },
  session: { one: ["times", "order"], all: ["times", "range", "order"], times: "Session" },
  versioned: { one: ["as_of", "times", "order"], all: [], times: "Valid" },
  "list-value": { one: [], all: [] },
};

export function mount(root, at, signal) {
  const [, chosen] = at.parts;
  const list = h("nav", { class: "chips", "aria-label": "Stores" });
  const card = h("section", { class: "card" });
  put(root, heading("Stores", at), list, card);
  open(at, chosen, list, card, signal);
}

/** Send a request to a query server, which may have to start first. Show the reason for waiting. */
async function patient(path, card, signal) {
  for (;;) {
    try {
      return await get(path, signal);
    } catch (error) {
      if (error.status !== 503 || signal.aborted) throw error;
      put(card, note("loading", "Not ready yet.", error.message));
      await sleep(1000, signal);
      if (signal.aborted) throw error;
    }
  }
}

async function open(at, chosen, list, card, signal) {
  put(card, note("loading", "Loading the stores."));
  try {
    const { stores } = await patient(jobPath(at.job, "q", "stores"), card, signal);
    if (!stores.length) {
      put(card, note("empty", "This job keeps no stores.", "Choose another job above."));
      return;
    }
    const store = stores.find((each) => each.store === chosen) ?? stores.find((each) => KINDS[each.kind]) ?? stores[0];
    put(
      list,
      stores.map((each) =>
        h("a", { class: "chip", href: `#/stores/${part(at.job)}/${part(each.store)}`, "aria-current": each === store ? "true" : null }, each.store, h("small", null, each.kind)),
      ),
    );
    if (chosen && store.store !== chosen) {
      put(card, note("broken", `There is no store ${chosen}.`, "Choose one above."));
      return;
    }
    if (!KINDS[store.kind]) {
      put(card, note("empty", "This store can't be queried.", "Join and suppress buffers do not contain results yet. Choose another store."));
      return;
    }
    browse(at, store, card, signal);
  } catch (error) {
    if (signal.aborted) return;
    put(card, note("broken", "The stores can't be read.", error.message));
  }
}

function browse(at, store, card, signal) {
  const kind = KINDS[store.kind];
  const parts = h("fieldset", { "aria-label": "Key" });
  const fields = {
    prefix: h("input", { name: "prefix", autocomplete: "off", spellcheck: "false" }),
    from: h("input", { name: "from", autocomplete: "off", spellcheck: "false" }),
    to: h("input", { name: "to", autocomplete: "off", spellcheck: "false" }),
    since: h("input", { name: "since", type: "datetime-local", step: "0.001" }),
    until: h("input", { name: "until", type: "datetime-local", step: "0.001" }),
    as_of: h("input", { name: "as_of", type: "datetime-local", step: "0.001" }),
    order: h("select", { name: "order" }, h("option", { value: "asc" }, "ascending"), h("option", { value: "desc" }, "descending")),
  };
  const label = (text, field, wide = true) => h("label", { class: wide ? "wide" : null }, text, field);
  const boxes = {
    prefix: label("Prefix of keys", fields.prefix),
    range: [label("Keys from", fields.from), label("Keys to", fields.to)],
    times: [label(`${kind.times ?? ""} since`, fields.since, false), label("until", fields.until, false)],
    as_of: label("Version as of", fields.as_of, false),
    order: label("Order", fields.order, false),
  };
  const addPart = () => {
    const first = !parts.children.length;
    parts.append(h("input", { name: "key", autocomplete: "off", spellcheck: "false", "aria-label": first ? "Key" : `Field ${parts.children.length + 1} of the key`, placeholder: first ? "a key; empty: all keys" : "next field of the key" }));
    parts.lastChild.addEventListener("input", adapt);
    if (!first) parts.lastChild.focus();
  };
  const adapt = () => {
    const one = parts.firstChild.value !== "";
    const asked = one ? kind.one : kind.all;
    for (const [name, box] of Object.entries(boxes)) for (const each of [box].flat()) each.hidden = !asked.includes(name);
    live.disabled = !one;
    live.title = one ? "" : "Enter a key to follow it";
  };
  const more = h("button", { type: "button", title: "A key of several fields", onclick: addPart }, "+ field");
  const live = h("button", { type: "button" }, "Follow live");
  const form = h(
    "form",
    { class: "query" },
    h("label", { class: "wide" }, "Key", h("div", { class: "row" }, parts, more)),
    Object.values(boxes),
    h("button", { type: "submit", class: "primary" }, "Look up"),
    live,
  );
  const results = h("div");
  let following = new AbortController();
  signal.addEventListener("abort", () => following.abort());
  put(card, h("div", { class: "row spread" }, h("h2", null, store.store), h("small", null, `${store.kind} store of ${store.record}`)), form, results);

  const asked = () => {
    const keys = [...parts.children].map((each) => each.value);
    while (keys.length > 1 && keys.at(-1) === "") keys.pop();
    const one = keys[0] !== "";
    const names = one ? kind.one : kind.all;
    const given = new URLSearchParams({ limit: LIMIT });
    const take = (name, value) => value !== "" && given.set(name, value);
    if (names.includes("prefix")) take("prefix", fields.prefix.value);
    if (names.includes("range")) ["from", "to"].forEach((name) => take(name, fields[name].value));
    if (names.includes("times")) ["since", "until"].forEach((name) => take(name, msOf(fields[name])));
    if (names.includes("as_of")) take("as_of", msOf(fields.as_of));
    if (names.includes("order") && fields.order.value === "desc") take("order", "desc");
    return { keys: one ? keys : [], given };
  };
  const look = async () => {
    following.abort();
    const { keys, given } = asked();
    put(results, note("loading", "Reading."));
    try {
      // A query server that has just started lists its stores before it has read their rows.
      const found = await patient(`${jobPath(at.job, "q", "stores", store.store, ...keys)}?${given}`, results, signal);
      shown(found, keys, given);
    } catch (error) {
      if (signal.aborted) return;
      const missing = error.status === 404;
      put(results, note(missing ? "empty" : "broken", missing ? "There is no row with this key." : "The rows can't be read.", missing ? "Check the spelling: keys are compared byte by byte. Without a key, the first rows are listed." : error.message));
    }
  };
  const shown = (found, keys, given) => {
    if (!found.entries.length) {
      put(results, note("empty", "There are no rows.", given.has("prefix") || given.has("since") ? "Widen the query." : "The store is empty as of the job's last commit."));
      return;
    }
    const next = found.next
      ? h("button", { type: "button", onclick: () => page(found.next, keys, given) }, `Next ${LIMIT}`)
      : found.more
        ? h("p", { class: "hint" }, "There are more rows: narrow the query.")
        : null;
    put(results, entries(found.entries, (entry) => pick(entry)), h("div", { class: "row spread" }, h("p", { class: "hint" }, said(found)), next));
  };
  const page = async (after, keys, given) => {
    given.set("after", after);
    try {
      shown(await get(`${jobPath(at.job, "q", "stores", store.store, ...keys)}?${given}`, signal), keys, given);
      card.scrollIntoView({ block: "start" });
    } catch (error) {
      if (!signal.aborted) put(results, note("broken", "The next page can't be read.", error.message));
    }
  };
  const pick = (entry) => {
    while (parts.children.length > 1) parts.lastChild.remove();
    (entry.key_parts ?? [entry.key_text ?? entry.key]).forEach((each, number) => {
      if (number) addPart();
      parts.lastChild.value = each;
    });
    adapt();
    look();
    card.scrollIntoView({ block: "start" });
  };
  live.addEventListener("click", () => {
    following.abort();
    following = new AbortController();
    const { keys } = asked();
    watch(jobPath(at.job, "q", "changes", store.store, ...keys), results, following);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    look();
  });
  addPart();
  if (at.query.has("key")) parts.firstChild.value = at.query.get("key");
  adapt();
  look();
}

const msOf = (field) => (field.value === "" ? "" : String(new Date(field.value).getTime()));

function said(found) {
  const commits = Object.values(found.batches).filter((each) => each >= 0);
  const tasks = commits.length ? `as of commits up to ${count(Math.max(...commits))} of ${many(commits.length, "task")}` : "no task has committed yet";
  return `${found.entries.length === 1 ? "1 entry" : `${count(found.entries.length)} entries`}${found.more ? ", there are more" : ""}; ${tasks}`;
}

const timed = (entry) => entry.start !== undefined || entry.timestamp !== undefined;

function timesOf(entry) {
  const lines = [];
  if (entry.start !== undefined) lines.push(`${time(entry.start)} – ${time(entry.end)} (${ms(entry.end - entry.start)})`);
  if (entry.timestamp !== undefined) lines.push(`${entry.valid_to === undefined ? "at" : "from"} ${time(entry.timestamp, true)}`);
  if (entry.valid_to !== undefined) lines.push(`to ${time(entry.valid_to, true)}`);
  return lines.length ? lines.map((line) => h("div", { class: "times" }, line)) : h("span", { class: "times" }, "–");
}

function entries(found, pick) {
  const withTimes = found.some(timed);
  const rows = found.map((entry) =>
    row([
      ["Key", h("button", { type: "button", class: "link", onclick: () => pick(entry), title: "Look this key up" }, keyView(entry)), "name"],
      ["Value", valueView(entry.value), "value"],
      ...(withTimes ? [["Time", timesOf(entry), "when"]] : []),
    ]),
  );
  const names = withTimes ? ["Key", "Value", "Time"] : ["Key", "Value"];
  return h("div", { class: "scroll" }, h("table", null, headOf(names, 3), h("tbody", null, rows)));
}

function watch(path, results, ending) {
  const state = h("span", { class: "hint", role: "status" }, "connecting");
  const tally = h("b", { class: "changes" }, "0 changes");
  const stop = h("button", { type: "button", onclick: () => ending.abort() }, "Stop");
  const body = h("tbody");
  let changes = 0;
  put(
    results,
    h("div", { class: "row spread" }, h("div", { class: "row" }, tally, state), stop),
    h("div", { class: "scroll" }, h("table", null, headOf(["Seen", "Value", ""], 3), body)),
  );
  ending.signal.addEventListener("abort", () => {
    put(state, "stopped");
    stop.disabled = true;
  });
  const add = (entry, isNew) => {
    const line = row([
      ["Seen", time(Date.now(), true), "name times"],
      ["Value", entry.value === null ? h("span", { class: "null" }, "deleted") : valueView(entry.value), "value"],
      ...(timed(entry) ? [["Time", timesOf(entry), "when"]] : []),
    ]);
    if (isNew) {
      line.classList.add("new");
      setTimeout(() => line.classList.remove("new"), 1500);
    }
    body.prepend(line);
    while (body.children.length > KEPT) body.lastChild.remove();
  };
  follow(`${path}?begin=snapshot`, {
    signal: ending.signal,
    state: (text) => ending.signal.aborted || put(state, text),
    on: (name, data) => {
      if (name === "row") add(data, false);
      if (name === "now" && !data.rows) put(state, "following; there is no row with this key yet");
      if (name === "end") put(state, data.reason === "overflow" ? "too many changes at once: reloading" : "the job started from the beginning: reloading");
      if (name !== "change") return;
      changes += 1;
      put(tally, many(changes, "change"));
      add(data, true);
    },
  }).catch((error) => put(results, note("broken", "This key can't be followed.", error.message)));
}

