// Marks a live line as busy while its answer is worked out, so that it is told once.

/** Runs work with line marked busy; the mark goes when the last such work has ended. */
export async function busy(line: Element, work: () => Promise<void>): Promise<void> {
  working.set(line, (working.get(line) ?? 0) + 1);
  line.setAttribute("aria-busy", "true");
  try {
    await work();
  } finally {
    const left = (working.get(line) ?? 1) - 1;
    working.set(line, left);
    if (left === 0) line.removeAttribute("aria-busy");
  }
}

const working = new WeakMap<Element, number>();
