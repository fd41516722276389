// The page's one status line: what a sort or a copy changed, told once.

/** Says text in the line with role=status that the page's frame holds. */
export function say(text: string): void {
  const line = document.querySelector("#status");
  if (line) line.textContent = text;
}
