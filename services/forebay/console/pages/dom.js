// Creation of elements, only in this file, so that data always becomes text and never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Create an HTML element. Strings among the children become text. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** Create an SVG element. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** Replace an element's children. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set an element's text, but only if it has changed. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// oxlint-disable-next-line no-control-regex -- these are the characters to find
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Replace characters that are invisible or change the direction of text by escapes. */
export const visible = (text) =>
  String(text).replace(HIDDEN, (found) => "\\u" + found.charCodeAt(0).toString(16).padStart(4, "0"));

/** A message in place of data: the state, and what to do. */
export const note = (kind, title, ...what) =>
  h("div", { class: `note ${kind}`, role: kind === "broken" ? "alert" : null }, h("strong", null, title), what.length ? h("p", null, what) : null);

/** A command to copy. */
export function command(text) {
  const button = h("button", { type: "button", class: "small" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      say(button, "Copied");
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      say(button, "Selected: press Ctrl+C");
    }
    setTimeout(() => say(button, "Copy"), 2000);
  });
  const code = h("code", null, text);
  return h("div", { class: "command" }, code, button);
}

const SHORT = 340;

/** A record's value: its fields in a line, and a button that shows the whole value if it is long. */
export function valueView(value) {
  if (value === null || value === undefined) return h("span", { class: "null" }, "null");
  if (typeof value !== "object") return textView(visible(String(value)));
  const fields = Array.isArray(value) ? null : Object.entries(value);
  const whole = () => visibleLines(JSON.stringify(value, big, 2));
  if (!fields) return folded(visible(JSON.stringify(value, big)), whole);
  let room = SHORT;
  const parts = [];
  for (const [name, item] of fields) {
    const text = visible(typeof item === "string" ? item : JSON.stringify(item, big) ?? "null");
    room -= name.length + text.length + 3;
    if (room < 0) break;
    const kind = item === null ? "null" : typeof item === "string" ? "" : "number";
    parts.push(h("span", { class: "field" }, h("i", null, visible(name)), h("b", { class: kind }, text)));
  }
  if (parts.length === fields.length) return h("span", { class: "fields" }, parts);
  return expandable(h("span", { class: "fields" }, parts), whole, `${fields.length - parts.length} more`);
}

const big = (_key, value) => (typeof value === "bigint" ? String(value) : value);
const visibleLines = (text) => text.split("\n").map(visible).join("\n");
const textView = (text) => (text.length <= SHORT ? h("span", null, text) : folded(text, () => text));

function folded(text, whole) {
  return text.length <= SHORT ? h("span", null, text) : expandable(h("span", null, text.slice(0, SHORT), "…"), whole);
}

function expandable(short, whole, title = "all") {
  const button = h("button", { type: "button", class: "link" }, title);
  const box = h("div", null, short);
  short.append(" ", button);
  button.addEventListener("click", () => put(box, h("pre", { tabindex: 0 }, whole())), { once: true });
  return box;
}

/** A key. The parts of a composite key are separated. */
export function keyView(entry) {
  if (entry.key === null || entry.key === undefined) return h("span", { class: "null" }, "no key");
  if (entry.key === "") return h("span", { class: "null" }, "empty key");
  if (!entry.key_parts) return h("code", { class: "key" }, visible(typeof entry.key === "string" ? entry.key : JSON.stringify(entry.key)));
  return h("code", { class: "key" }, entry.key_parts.map((part, at) => [at ? h("span", { class: "sep" }, " · ") : null, visible(part)]));
}
