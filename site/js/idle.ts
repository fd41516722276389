// Work that must not hold up the page.

/** Waits until the page has loaded and the browser has nothing better to do. */
export async function idle(): Promise<void> {
  if (document.readyState !== "complete") {
    await new Promise((done) => addEventListener("load", done, { once: true }));
  }
  await new Promise<unknown>((done) =>
    "requestIdleCallback" in window ? requestIdleCallback(done, { timeout: 2000 }) : setTimeout(done, 200));
}
