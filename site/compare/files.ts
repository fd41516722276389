// What is seen, as files: the drawing with its colours in it, and the figures as CSV.
import { figure, type State } from "./data";
import type { Column } from "./tables";

/** Offers text as a file. */
export function save(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => { URL.revokeObjectURL(address); }, 60_000);
}

/** The drawing as it stands in this theme, with its finding as its title: it needs no style sheet. */
export function svgFile(drawn: SVGSVGElement, finding: string): string {
  const copy = drawn.cloneNode(true) as SVGSVGElement;
  const root = getComputedStyle(document.documentElement);
  const resolve = (text: string) => text.replace(/var\((--[a-z0-9-]+)\)/g, (_, name: string) => resolved(root.getPropertyValue(name).trim()));
  for (const e of [copy, ...copy.querySelectorAll("*")]) {
    for (const name of ["fill", "stroke"]) {
      const v = e.getAttribute(name);
      if (v?.includes("var(")) e.setAttribute(name, resolve(v));
    }
    for (const name of [...e.getAttributeNames()]) if (/^(class|tabindex|role|data-)/.test(name)) e.removeAttribute(name);
  }
  for (const hit of copy.querySelectorAll("[pointer-events], circle[r='12']")) hit.remove();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("font-family", "system-ui, sans-serif");
  copy.setAttribute("font-size", "12");
  copy.setAttribute("fill", resolve("var(--ink-2)"));
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = `${finding} ${location.href}`;
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, v] of Object.entries({ width: "100%", height: "100%", fill: resolve("var(--bg)") })) ground.setAttribute(name, v);
  copy.prepend(title, ground);
  return new XMLSerializer().serializeToString(copy);
}

// resolved is what a token's value comes to in this theme.
function resolved(value: string): string {
  const probe = Object.assign(document.createElement("span"), { hidden: true });
  probe.style.color = value;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** The compared figures, one line a row, as recorded. */
export function csv(state: State, columns: Column[], points: string[]): string {
  const name = state.metric.key + (state.metric.points ? `_${state.point}` : "");
  const head = ["recipe", "shape", "concurrency", "row", "measured", "verdict", name, `${name}_low`, `${name}_high`, "ratio", "ratio_low", "ratio_high", "shown_to_differ", "missing"];
  const lines = columns.flatMap((c) => c.rungs.map((r) => {
    const f = figure(r, state, points);
    const pair = c.pairs.find((p) => p.load === r.c);
    const figures = typeof f === "string" ? ["", "", ""] : [f[0], f[1] ?? "", f[2] ?? ""];
    return [c.recipe.id, state.shape, r.c, r.id, r.date, r.verdict, ...figures,
      ...(pair ? [pair.ratio, pair.lo, pair.hi, pair.apart] : ["", "", "", ""]), typeof f === "string" ? f : ""];
  }));
  return [head, ...lines].map((line) => line.map((v) => quoted(String(v))).join(",")).join("\r\n") + "\r\n";
}

function quoted(v: string): string {
  return /[",\r\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v;
}
