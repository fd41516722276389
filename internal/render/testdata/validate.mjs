// Holds JSON files against JSON Schemas with ajv, which knows nothing of this project.
// Reads {schemas: {name: file}, cases: [{schema, file, lines}]} from standard input, and
// writes for each case its complaints; lines says that each line is a text of its own.
import { readFileSync } from "node:fs";
import Ajv from "ajv/dist/2020.js";

const { schemas, cases } = JSON.parse(readFileSync(0, "utf8"));
const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true });
const compiled = Object.fromEntries(Object.entries(schemas).map(([name, file]) => [name, ajv.compile(JSON.parse(readFileSync(file, "utf8")))]));
const said = cases.map(({ schema, file, lines }) => {
  const text = readFileSync(file, "utf8");
  return (lines ? text.split("\n").filter((l) => l !== "") : [text]).flatMap((one, i) => {
    const holds = compiled[schema];
    if (holds(JSON.parse(one))) return [];
    return holds.errors.slice(0, 5).map((e) => `${file}${lines ? `:${i + 1}` : ""}: ${e.instancePath || "/"} ${e.message} ${JSON.stringify(e.params)}`);
  });
});
process.stdout.write(JSON.stringify(said));
