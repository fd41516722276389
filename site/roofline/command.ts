// The question as a command of measure, which gives the same answer.
import { own, peakTypes, type Question } from "./data";

/** The command; a config.json and a device of the reader's own stand in it as files. */
export function command({ modelID, targetID, weights, kv, layout: [tp, pp, dp, ep], numbers }: Question): string {
  const devices = tp * pp * dp;
  const words = [
    "measure ceiling", modelID === own ? "--config config.json" : `--model ${modelID}`,
    `--target ${targetID === own ? "mine.yaml" : targetID}${targetID !== own && devices > 1 ? `-x${devices}` : ""}`, `--weights-dtype ${weights}`, `--kv-dtype ${kv}`,
  ];
  const layout: [string, number, number][] = [["tp", tp, 1], ["pp", pp, 1], ["dp", dp, 1], ["ep", ep, 0]];
  if (devices > 1) words.push(...layout.flatMap(([name, n, least]) => (n > least || name === "tp" ? [`--${name} ${n}`] : [])));
  const load = (numbers["isl"] ?? 0) > 0 ? ["isl", "osl", "concurrency", "cached", "chunk"] : []; // without a prompt measure takes none of it
  for (const name of ["batch", "context", ...load, "gamma", "acceptance"]) {
    const n = numbers[name] ?? 0;
    if (n > 0) words.push(`--${name} ${n}`);
  }
  if (numbers["mtp"]) words.push("--mtp");
  return words.join(" ");
}

/** The file that the command names for the reader's own device; "" for one of the catalogue. */
export function deviceFile({ targetID, target, layout: [tp, pp, dp] }: Question, value: (field: string) => string): string {
  if (targetID !== own) return "";
  const lines = ["name: My device", "vendor: mine", "device: mine", "architecture: mine", `count: ${tp * pp * dp}`];
  const sources = ["  architecture: my own"];
  const figure = (key: string, text: string) => {
    if (!text) return;
    lines.push(`${key}: ${text}`);
    sources.push(`  ${key}: my own`);
  };
  const quoted = (field: string) => (value(field) ? `"${value(field).replaceAll(",", "")}"` : "");
  figure("memory_gb", quoted("gb"));
  figure("bandwidth_gb_s", quoted("gbs"));
  figure("peak_tflops", `{${peakTypes.flatMap((t) => (target.peaks[t] === undefined ? [] : [`${t}: "${target.peaks[t]}"`])).join(", ")}}`);
  figure("link_gb_s", quoted("link"));
  return [...lines, "sources:", ...sources].join("\n");
}
