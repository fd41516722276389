// Figures as gen writes them (internal/render/format), for those computed in the page.

/** Three significant digits, and every integer digit above 999. */
export function prose(v: number): string {
  if (v === 0) return "0";
  if (Math.abs(v) >= 999.5) return grouped(v.toFixed(0));
  const short = v.toPrecision(3);
  return short.includes("e") ? Number(short).toFixed(12) : short; // as small as that
}

/** Decimals of a column by its median: clamp(2 − ⌊log10⌋, 0, 2); 0 for no values. */
export function decimals(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.abs(((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2);
  return middle === 0 || middle >= 100 ? 0 : middle >= 10 ? 1 : 2;
}

/** With so many decimals, and commas from 1,000. */
export function fixed(v: number, digits: number): string {
  const [whole = "", fraction] = v.toFixed(digits).split(".");
  return grouped(whole) + (fraction ? `.${fraction}` : "");
}

/** Both ends with the same decimals; where they print alike, half the last place. */
export function interval(lo: number, hi: number, digits: number): string {
  const [from, to] = [fixed(lo, digits), fixed(hi, digits)];
  return from === to ? `±<${fixed(0.5 / 10 ** digits, digits + 1)}` : `${from}\u2060–\u2060${to}`;
}

/** As many decimals as a figure of the same column was written with. */
export function like(written: string, v: number): string {
  return fixed(v, written.split(".")[1]?.length ?? 0);
}

/** A reader's own number, with commas. */
export function plain(v: number): string {
  const [whole = "", fraction] = String(v).split(".");
  return grouped(whole) + (fraction ? `.${fraction}` : "");
}

/** The least number of two significant digits that is not below v, which is above 0. */
export function roundedUp(v: number): number {
  const unit = Math.floor(Math.log10(v)) - 1;
  const steps = Math.ceil(v / 10 ** unit);
  const up = Number(`${steps}e${unit}`);
  return up >= v ? up : Number(`${steps + 1}e${unit}`);
}

/** A whole number with commas. */
export function count(n: number): string {
  return grouped(n.toFixed(0));
}

/** A figure and its unit on one line. */
export function quantity(figure: string, unit: string): string {
  return `${figure}\u00a0${unit}`;
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}
