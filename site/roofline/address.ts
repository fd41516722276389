// The calculator's question in the page's address: what a reader shares is what another
// sees. Model and device always stand in it, so that it means the same if the page should
// one day open with another question.
import { deviceFields, fields, type Field, type Form } from "./form";
import { own } from "./data";

/** What the page opens with, read before the address is. */
export type Opening = Map<Field, string>;

export function opening(form: Form): Opening {
  return new Map(fields.map((name) => [name, form.value(name)]));
}

const labels: Partial<Record<string, string>> = { model: "Model", target: "Device", weights: "Weights", kv: "Keys and values" };

/** Takes the address's values over and says which it had to leave out. */
export function restore(form: Form, first: Opening): string[] {
  const asked = new URLSearchParams(location.search);
  const said: string[] = [];
  form.offer();
  const ownDevice = asked.get("target") === own; // then a figure that is not given is not known
  for (const name of [...fields.slice(0, 2), ...deviceFields, ...fields.slice(2)]) {
    const value = asked.get(name) ?? (ownDevice && isDevice(name) ? "" : null);
    if (value === null) continue;
    if (!form.set(name, value)) {
      said.push(`${labels[name] ?? name} ${value} is not ${name === "model" || name === "target" ? "known" : "on offer"} and was left out.`);
    }
    form.offer(); // what that allows
  }
  form.read();
  for (const [name, problem] of form.problems()) {
    if (!asked.has(name)) continue;
    form.set(name as Field, isDevice(name) ? "" : first.get(name as Field) ?? "");
    said.push(`${problem}. What the address says there was left out.`);
  }
  const known: string[] = [...fields, ...deviceFields];
  for (const name of asked.keys()) if (!known.includes(name)) said.push(`“${name}” is not known and was left out.`);
  return said;
}

function isDevice(name: string): boolean {
  return (deviceFields as readonly string[]).includes(name);
}

/** Writes the question into the address, as far as it is not the one that the page opens with. */
export function remember(form: Form, first: Opening): void {
  const state = new URLSearchParams();
  const model = form.model();
  const ofModel: Partial<Record<Field, string | undefined>> = { weights: model?.weights[0], kv: model?.kv[0] };
  for (const name of fields) {
    const value = form.value(name);
    if (name === "model" && value === own) continue; // the file stays with its reader
    if (name === "model" || name === "target" || value !== (ofModel[name] ?? first.get(name))) state.set(name, value);
    if (name === "target" && value === own) for (const field of deviceFields) if (form.value(field)) state.set(field, form.value(field));
  }
  const same = state.size === 2 && state.get("model") === first.get("model") && state.get("target") === first.get("target");
  history.replaceState(null, "", same ? location.pathname : `?${state}`);
}
