// What is found out about a row, as lists that stand on any width: a name, what holds of it,
// and why.
import { make } from "./make";

/** A list whose items' parts stand beside each other where there is room. */
export function listed(kind: "answers" | "stated" | "hashes" | "figures", items: HTMLElement[][]): HTMLElement {
  return make("ul", { className: `listed ${kind}` }, ...items.map((parts) => make("li", {}, ...parts)));
}

/** What a reader may fold away, closed where it is more than the answer. */
export function folded(name: string, open: boolean, what: Node): HTMLElement {
  return make("details", { open }, make("summary", {}, name), what);
}

/** A part of an item; bad where it speaks against the row. */
export function part(text: string, bad = false): HTMLElement {
  return make("span", bad ? { className: "bad" } : {}, text);
}
