// Figures as gen writes them (internal/render/format), for those computed in the page.

/** Three significant digits, and every integer digit above 999. */
export function prose(v: number): string {
  if (v === 0) return "0";
  return Math.abs(v) >= 999.5 ? grouped(v.toFixed(0)) : v.toPrecision(3);
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
