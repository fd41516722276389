// Files that a reader chooses, or drops anywhere on the page.

/** Hands take the files that are chosen in input or dropped; zone shows where they would go. */
export function drop(zone: HTMLElement, input: HTMLInputElement, take: (files: File[]) => void): void {
  input.addEventListener("change", () => {
    take([...(input.files ?? [])]);
    input.value = ""; // the same file may be chosen again
  });
  const carries = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    zone.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) zone.classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    zone.classList.remove("over");
    take([...(event.dataTransfer?.files ?? [])]);
  });
}
