// Generates the reference, schema and lists from the tables. `--check` only reports outdated files.
import { fileURLToPath } from "node:url";
import { createOutputs, findOutdated, writeOutputs } from "./generate/outputs.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const outputs = await createOutputs(root);
const outdated = await findOutdated(root, outputs);

if (!process.argv.includes("--check")) await writeOutputs(root, outputs, outdated);
else if (outdated.length > 0) {
  console.error(`Out of date; run \`npm run generate\`:\n${outdated.map((path) => `  ${path}`).join("\n")}`);
  process.exitCode = 1;
}
