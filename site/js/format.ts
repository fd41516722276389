// Figures as gen writes them (internal/render/format), for those computed in the page.

/** Three significant digits, and every integer digit above 999. */
export function prose(v: number): string {
  if (v === 0) return "0";
  return Math.abs(v) >= 999.5 ? grouped(v.toFixed(0)) : v.toPrecision(3);
}

/** How a column writes its figures: one number of decimals, by their median. */
export function column(values: number[]): (v: number) => string {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
  const decimals = middle === 0 || middle >= 100 ? 0 : middle >= 10 ? 1 : 2;
  return (v) => {
    const [whole = "", fraction] = v.toFixed(decimals).split(".");
    return grouped(whole) + (fraction ? `.${fraction}` : "");
  };
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
