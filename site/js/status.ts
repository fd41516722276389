// The page's one status line: what a sort or a copy changed, told once.

let timer: ReturnType<typeof setTimeout> | undefined;

/** Says text in the line with role=status that the page's frame holds. */
export function say(text: string): void {
  const line = document.querySelector("#status");
  if (!line) return;
  line.textContent = text;
  clearTimeout(timer);
  const clear = () => { line.textContent = ""; };
  timer = setTimeout(clear, 6000);
  for (const next of ["pointerdown", "wheel"]) addEventListener(next, clear, { once: true, passive: true }); // it lies over what the reader goes on to
}
