// Elements built in the page.

/** An element with properties set and children appended. */
export function make<K extends keyof HTMLElementTagNameMap>(tag: K, set: Partial<HTMLElementTagNameMap[K]>, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = Object.assign(document.createElement(tag), set);
  e.append(...children);
  return e;
}
