// Copy buttons: each stands in a .cmd beside the pre whose text it copies.
import { say } from "./status";

export function copyButton(button: HTMLButtonElement): void {
  button.hidden = false;
  button.addEventListener("click", () => {
    const text = button.closest(".cmd")?.querySelector("pre")?.textContent ?? "";
    navigator.clipboard.writeText(text).then(
      () => say("Copied."),
      () => say("Not copied: the browser refused. Select the text and copy it by hand."),
    );
  });
}
