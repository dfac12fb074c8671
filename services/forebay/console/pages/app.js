// The console's frame: navigation by the URL's fragment, token, theme, state of the connection.

import { configure, get, setToken } from "./api.js";
import { h, note, put, say } from "./dom.js";
import { ago } from "./units.js";

const PAGES = {
  "": ["Jobs", "./jobs.js"],
  job: ["Job", "./job.js"],
  stores: ["Stores", "./stores.js"],
  sql: ["SQL", "./sql.js"],
  errors: ["Errors", "./errors.js"],
  topics: ["Topics", "./topics.js"],
  engines: ["Engines", "./engines.js"],
};
const OF_A_JOB = ["job", "stores", "sql", "errors", "topics"];
const JOB = "forebay-job";
const THEME = "forebay-theme";

const main = document.querySelector("main");
const nav = document.querySelector("nav");
const status = document.querySelector(".status");
let mounted = new AbortController();
let answeredAt = 0;
let answers = true;

function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map((each) => {
    try {
      return decodeURIComponent(each);
    } catch {
      return each;
    }
  });
  return { page: parts[0], parts: parts.slice(1), query: new URLSearchParams(query) };
}

async function show() {
  mounted.abort();
  mounted = new AbortController();
  const { signal } = mounted;
  const at = route();
  const [title, module] = PAGES[at.page] ?? [];
  if (!module) {
    put(main, note("broken", "There is no such page.", h("a", { href: "#/" }, "See all jobs")));
    return;
  }
  const loading = import(module);
  loading.catch(() => {}); // reported below, unless the jobs can't be loaded either
  try {
    let job = at.parts[0];
    if (OF_A_JOB.includes(at.page)) {
      const { jobs } = await get("api/jobs", signal);
      const names = jobs.map((each) => each.name);
      job ||= names.includes(sessionStorage.getItem(JOB)) ? sessionStorage.getItem(JOB) : names[0];
      if (job) sessionStorage.setItem(JOB, job);
      at.names = names;
    }
    links(at.page, job);
    document.title = `${job ? `${job} · ` : ""}${title} · Forebay`;
    const { mount } = await loading;
    if (signal.aborted) return;
    put(main);
    mount(main, { ...at, job }, signal);
  } catch (error) {
    if (!signal.aborted) put(main, note("broken", "This page can't be shown.", error.message));
  }
}

function links(page, job) {
  const of = job ?? sessionStorage.getItem(JOB) ?? "";
  put(
    nav,
    Object.entries(PAGES).map(([name, [title]]) =>
      h("a", { href: name ? `#/${name}${OF_A_JOB.includes(name) && of ? `/${encodeURIComponent(of)}` : ""}` : "#/", "aria-current": name === page ? "page" : null }, title),
    ),
  );
}

/** The heading of a job's page: its title, and a list to choose another job. */
export function heading(title, at) {
  const choice = h("select", { "aria-label": "Job" }, at.names.map((name) => h("option", { value: name, selected: name === at.job }, name)));
  choice.addEventListener("change", () => {
    location.hash = `#/${at.page}/${encodeURIComponent(choice.value)}`;
  });
  return h("div", { class: "heading" }, h("h1", null, title), choice);
}

let dialog;

function askToken(wrong) {
  if (dialog) {
    if (wrong) say(dialog.querySelector(".wrong"), "This token is not valid.");
    return;
  }
  const field = h("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-label": "Token" });
  const form = h(
    "form",
    { class: "token" },
    h("h2", null, "Token required"),
    h("p", null, "Enter the token of the file with which the console was started (--token-file). It is kept until you close this tab."),
    field,
    h("p", { class: "wrong", role: "alert" }, wrong ? "This token is not valid." : ""),
    h("button", { type: "submit", class: "primary" }, "Use this token"),
  );
  dialog = h("dialog", null, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const token = field.value.trim();
    if (!/^[\x21-\x7e]+$/.test(token)) {
      say(dialog.querySelector(".wrong"), "A token is one word of ASCII.");
      return;
    }
    setToken(token);
    dialog.close();
    dialog.remove();
    dialog = undefined;
    show();
  });
  document.body.append(dialog);
  dialog.showModal();
}

function showReachable(ok) {
  answers = ok;
  if (ok) answeredAt = Date.now();
  beat();
}

function beat() {
  const old = Date.now() - answeredAt;
  const stale = !answers || old > 8000;
  status.className = `status ${stale && answeredAt ? "stale" : "live"}`;
  say(status, !answeredAt ? "" : stale && !document.hidden ? `no answer; last ${ago(answeredAt)}` : "live");
}

function theme(choice) {
  document.documentElement.dataset.theme = choice;
  localStorage.setItem(THEME, choice);
  const button = document.querySelector(".theme");
  say(button, { auto: "Auto", light: "Light", dark: "Dark" }[choice]);
  button.setAttribute("aria-label", `Theme: ${choice}`);
}

document.querySelector(".theme").addEventListener("click", () => {
  const order = ["auto", "light", "dark"];
  theme(order[(order.indexOf(document.documentElement.dataset.theme) + 1) % order.length]);
});
theme(localStorage.getItem(THEME) ?? "auto");
configure({ askToken, showReachable });
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => {
  scrollTo(0, 0);
  show();
});
setInterval(beat, 2000);
show();
