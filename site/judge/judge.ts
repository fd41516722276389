// The worker in which the full module reads a reader's own files and judges them. It asks
// for nothing: the page hands it the compiled module.
import type { FullExports } from "../../wasm/full/full";
import type { Taken } from "../yourfile/yourfile";
import { start } from "../js/start";

export interface Ask { module: WebAssembly.Module; files: File[] }

/** What became of the files; without it the error says why. */
export interface Answer { taken?: Taken; error?: string }

const most = 256 << 20; // bytes of all files of one choice

addEventListener("message", ({ data }: MessageEvent<Ask>) => {
  void judge(data)
    .catch((reason: unknown): Answer => ({ error: reason instanceof Error ? reason.message : String(reason) }))
    .then((answer) => { postMessage(answer); });
});

async function judge({ module, files }: Ask): Promise<Answer> {
  const go = await start<FullExports>(module);
  const refused: string[] = [];
  let room = most;
  for (const file of files) {
    const name = new TextEncoder().encode(file.name);
    const at = go.name(name.length);
    if (at === 0) {
      refused.push(`${file.name.slice(0, 40)}…: a name of more than 4 KiB`);
      continue;
    }
    new Uint8Array(go.memory.buffer, at, name.length).set(name);
    const place = file.size > 0xffffffff ? 0 : go.file(file.size);
    if (place === 0) {
      refused.push(`${file.name}: above 64 MiB; measure import reads larger ones`);
      continue;
    }
    if ((room -= file.size) < 0) {
      refused.push(`${file.name}: with those before it above 256 MiB; hand over fewer at once`);
      break;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (bytes.length !== file.size) throw new Error(`${file.name} changed while it was read`);
    new Uint8Array(go.memory.buffer, place, bytes.length).set(bytes);
    go.keep();
  }
  const n = go.take(Date.now() / 1000);
  const taken = JSON.parse(new TextDecoder().decode(new Uint8Array(go.memory.buffer, go.text(), n))) as Taken;
  taken.problems.unshift(...refused);
  return { taken };
}
