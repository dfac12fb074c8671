// Requests of the pages to the server: polled JSON, and event streams that reconnect.

const TOKEN = "forebay-token";
const BEAT_MS = 40000; // the server sends an event or a comment at least every 15 s

export class Failed extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let askToken = () => {};
let showReachable = () => {};

/** Set the callbacks that ask for a token, and that show whether the server answers. */
export function configure(options) {
  ({ askToken, showReachable } = options);
}

export const setToken = (token) => sessionStorage.setItem(TOKEN, token);

// Whole numbers outside of JavaScript's safe range become BigInts.
function exact(_key, value, context) {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !context?.source) return value;
  return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}

export const parse = (text) => JSON.parse(text, exact);

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    showReachable(false);
    throw new Failed(0, "the console does not answer: is `forebay console` still running?");
  }
  showReachable(true);
  if (answer.ok) return answer;
  const text = await answer.text();
  let reason = text.slice(0, 500) || `HTTP ${answer.status}`;
  try {
    reason = JSON.parse(text).error ?? reason;
  } catch {
    // the text is not JSON: show it unchanged
  }
  if (answer.status === 401) askToken(Boolean(token));
  throw new Failed(answer.status, reason);
}

export const get = async (path, signal) => parse(await (await ask(path, { signal })).text());

export const part = encodeURIComponent;
export const jobPath = (job, ...rest) => ["api/jobs", job, ...rest].map((each, at) => (at ? part(each) : each)).join("/");

export const sleep = (milliseconds, signal) =>
  new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      done();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });

/** Resolve once the page is visible. Hidden tabs send no requests and hold no connections. */
function seen(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    document.addEventListener("visibilitychange", () => document.hidden || done(), { signal });
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Call `work` periodically until the signal, and at once when the page is visible again or the network is back. */
export async function poll(work, milliseconds, signal) {
  while (!signal.aborted) {
    await seen(signal);
    if (signal.aborted) return;
    await work();
    const woken = new AbortController();
    const wake = () => woken.abort();
    for (const name of ["online", "pageshow", "forebay-token"]) addEventListener(name, wake, { signal: woken.signal });
    signal.addEventListener("abort", wake, { signal: woken.signal });
    await sleep(milliseconds, woken.signal);
    wake();
  }
}

/**
 * Follow server-sent events until the signal. If the connection ends, reconnect after a pause, once the page is visible.
 * `on(name, data)` is called with each event, `state(text)` with the connection's state. Throws if the server refuses
 * the request permanently.
 */
export async function follow(path, { on, state, signal, options = {}, once = false }) {
  let wait = 500;
  while (!signal.aborted) {
    await seen(signal);
    if (signal.aborted) return;
    const inner = new AbortController();
    const end = () => inner.abort();
    signal.addEventListener("abort", end, { signal: inner.signal });
    if (!once) document.addEventListener("visibilitychange", () => document.hidden && end(), { signal: inner.signal });
    let heard = Date.now();
    const watch = setInterval(() => Date.now() - heard > BEAT_MS && end(), 5000);
    try {
      state("connecting");
      const headers = { ...options.headers, Accept: "text/event-stream" };
      const answer = await ask(path, { ...options, headers, signal: inner.signal });
      state("following");
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let held = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        heard = Date.now();
        wait = 500;
        const blocks = (held + value).split("\n\n");
        held = blocks.pop();
        for (const block of blocks) {
          const lines = block.split("\n");
          const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
          const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
          if (name && data !== undefined) on(name, parse(data));
        }
      }
    } catch (error) {
      if (error instanceof Failed && [400, 401, 404, 405, 413].includes(error.status)) throw error;
      if (!signal.aborted && error instanceof Failed) state(error.message);
      if (once && !signal.aborted) throw error;
    } finally {
      clearInterval(watch);
      inner.abort();
    }
    if (signal.aborted || once) return;
    if (document.hidden) continue;
    await sleep(wait, signal);
    wait = Math.min(wait * 2, 5000);
  }
}
