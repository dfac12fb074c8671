// SQL engines: their queries, lag, and unexpected ends of their jobs.

import { get, poll } from "./api.js";
import { h, note, put } from "./dom.js";
import { headOf, row } from "./job.js";
import { ago, short, time } from "./units.js";

const LOOK_MS = 2000;

export function mount(root, _at, signal) {
  const engines = h("div", { class: "stack" });
  put(root, h("h1", null, "Engines"), engines);
  put(engines, note("loading", "Loading the engines."));
  poll(
    async () => {
      try {
        const { engines: all } = await get("api/engines", signal);
        if (!all.length) {
          put(engines, note("empty", "No engine is watched.", "Start the console with an engine to watch: forebay console --engine http://HOST:7070."));
          return;
        }
        put(engines, all.map((engine) => (engine.error ? broken(engine) : card(engine))));
      } catch (error) {
        if (!signal.aborted) put(engines, note("broken", "The engines can't be shown.", error.message));
      }
    },
    LOOK_MS,
    signal,
  );
}

const broken = (engine) => h("section", { class: "card" }, h("h2", null, engine.url), note("broken", "This engine does not answer.", engine.error));

function card(engine) {
  const word = engine.state.split(" ")[0];
  const kind = word === "running" ? "running" : word === "ended" ? "ended" : "trouble";
  return h(
    "section",
    { class: "card" },
    h("h2", null, engine.application, " ", h("span", { class: `badge ${kind}` }, word)),
    word === engine.state ? null : h("p", { class: `reason ${kind}` }, engine.state),
    engine.queries.length ? queries(engine) : note("empty", "No persistent query exists.", "Send CREATE STREAM or TABLE ... AS SELECT with `forebay sql`."),
    engine.ends.length ? ends(engine) : null,
  );
}

function queries(engine) {
  const rows = engine.queries.map((query) =>
    row([
      ["Query", [query.query, h("small", null, query.statement)], "name"],
      ["Writes", [query.writes, h("small", null, query.topic)], ""],
      ["Reads", query.reads.join(", ") || "other queries", ""],
      ["State", query.is_paused ? "paused" : "", ""],
      ["Lag", query.lag === null ? "nothing read yet" : short(query.lag, "rec"), "number"],
    ]),
  );
  return h("table", null, headOf(["Query", "Writes", "Reads", "State", "Lag"], 4), h("tbody", null, rows));
}

function ends(engine) {
  const rows = engine.ends.map((end) =>
    row([
      ["Ended", [time(end.at), h("small", null, ago(end.at, engine.at_ms))], "name"],
      ["Exit code", String(end.exit_code), "number"],
      ["Reason", end.reason, ""],
    ]),
  );
  return [h("h3", null, "The job ended by itself"), h("table", { class: "flat" }, headOf(["Ended", "Exit code", "Reason"], 1), h("tbody", null, rows))];
}
