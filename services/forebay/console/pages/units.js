// Numbers with their units. An unknown value is shown as a dash, never as zero.

export const UNKNOWN = "–";
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const one = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

/** A count with its unit. */
export function count(value, unit = "") {
  if (!known(value)) return UNKNOWN;
  const ending = unit && ` ${unit}`;
  return whole.format(value) + ending;
}

/** A count with its unit, shortened to k, M or G if it is large. */
export function short(value, unit = "") {
  if (!known(value)) return UNKNOWN;
  const ending = unit && ` ${unit}`;
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    const step = letter === "k" ? 1e3 : size;
    if (Math.abs(value) >= size) return one.format(value / step) + letter + ending;
  }
  return whole.format(value) + ending;
}

/** A rate, by default in records per second. */
export function rate(value, unit = "rec/s") {
  if (!known(value)) return UNKNOWN;
  if (value > 0 && value < 0.05) return `< 0.1 ${unit}`;
  return `${value < 10 ? one.format(value) : value < 10000 ? whole.format(value) : short(value)} ${unit}`;
}

/** A share between 0 and 1. */
export function percent(value) {
  if (!known(value)) return UNKNOWN;
  if (value > 0 && value < 0.001) return "< 0.1 %";
  return `${value === 1 || value === 0 ? whole.format(value * 100) : one.format(value * 100)} %`;
}

/** A duration in milliseconds, formatted. */
export function ms(value) {
  if (!known(value)) return UNKNOWN;
  if (value < 10) return `${one.format(value)} ms`;
  if (value < 1000) return `${whole.format(value)} ms`;
  if (value < 120000) return `${one.format(value / 1000)} s`;
  if (value < 7200000) return `${whole.format(value / 60000)} min`;
  if (value < 172800000) return `${one.format(value / 3600000)} h`;
  return `${whole.format(value / 86400000)} d`;
}

/** A size in bytes, formatted. */
export function bytes(value) {
  if (!known(value)) return UNKNOWN;
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (value >= size) return `${one.format(value / size)} ${unit}`;
  }
  return `${whole.format(value)} B`;
}

const pad = (number, width = 2) => String(number).padStart(width, "0");

/** A time in ms since the epoch, formatted as time of day, with the date if it is not today. */
export function time(value, milliseconds = false) {
  if (!known(value) || value < 0) return UNKNOWN;
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return String(value);
  const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  const full = milliseconds ? `${clock}.${pad(date.getMilliseconds(), 3)}` : clock;
  const today = date.toDateString() === new Date().toDateString();
  return today ? full : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${full}`;
}

/** How long ago a time in ms since the epoch was. */
export const ago = (value, now = Date.now()) => (known(value) && value > 0 ? `${ms(Math.max(0, now - value))} ago` : UNKNOWN);

/** A count of things, with the plural if necessary. */
export const many = (value, thing) => `${count(value)} ${thing}${value === 1 ? "" : "s"}`;
