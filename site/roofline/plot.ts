// The calculator's roofline: drawn by the module, its measured rows brought to life.
import type { Lean } from "../js/lean";
import { explain, type Told } from "../js/marks";
import type { Row } from "./data";

/** Draws the question with the rows of its model on its device; without a drawing there is why there is none, which lacks says. */
export function draw(module: Lean, packed: number[], name: string, compute: string, rows: Row[], alike: (row: Row) => boolean, lacks: string): void {
  const plot = document.querySelector<HTMLElement>("#ceiling-plot");
  if (!plot) return;
  const marks = rows.map((r) => [r.at[0] ?? NaN, r.at[1] ?? NaN, r.above ? 2 : alike(r) ? 1 : 0]);
  const drawings = ([296, 720] as const).flatMap((width) => {
    const text = module.plot(packed, width, marks);
    if (!text) return [];
    const svg = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
    svg.setAttribute("aria-label", name);
    if (compute) svg.querySelector(".peak")?.prepend(`${compute} `);
    return [svg];
  });
  plot.replaceChildren(...drawings);
  explain(plot, rows.map(told));
  document.querySelector<HTMLElement>(".plot-keys")?.toggleAttribute("hidden", drawings.length === 0);
  const none = document.querySelector<HTMLElement>("#plot-none");
  if (none) {
    none.hidden = drawings.length > 0;
    none.textContent = none.hidden ? "" : `Nothing to draw: ${lacks || "its axes would span more than 60 powers of ten"}.`;
  }
}

/** What a row's mark tells; the table under the plot says the same. */
function told(r: Row): Told {
  return {
    title: `${r.on}, ${r.types}, ${r.load}`,
    lines: [`TPOT p50 ${r.step}\u00a0ms; hard roof ${r.hard}\u00a0ms: ${r.share}`, `mean batch ${r.batch}, mean context ${r.context}\u00a0tokens`],
    verdict: r.verdict, address: r.address,
  };
}
