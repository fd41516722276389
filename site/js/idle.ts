// Work that must not hold up the page.

/** Waits until the page has loaded and the browser has nothing better to do. */
export async function idle(): Promise<void> {
  if (document.readyState !== "complete") {
    await new Promise((done) => addEventListener("load", done, { once: true }));
  }
  await new Promise<void>((done) => requestIdle(done));
}

/** Runs work when the browser has nothing better to do. */
export function requestIdle(work: () => void): void {
  if ("requestIdleCallback" in window) requestIdleCallback(work, { timeout: 2000 });
  else setTimeout(work, 200);
}
