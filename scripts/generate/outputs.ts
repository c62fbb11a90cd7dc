// All generated files of a tree, by their paths in it.
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { core } from "../../src/protocol/core.ts";
import { renderReadme } from "./bench-table.ts";
import { readCapabilityFolders } from "./capability-folders.ts";
import { createProtocolSchema } from "./protocol-schema.ts";
import { renderReference } from "./reference.ts";
import { renderKnownCalls, renderPackage, renderPlugins, renderSpellings, renderTables } from "./registries.ts";
import { renderVectors } from "./vectors.ts";

const referenceDir = "docs/reference";
const vectorsDir = "src/conformance/vectors";
/** Folders in which every file is generated: files without a table are removed. */
const ownedDirs = [referenceDir, vectorsDir];

export type Outputs = ReadonlyMap<string, string>;

export async function createOutputs(root: string): Promise<Outputs> {
  const folders = await readCapabilityFolders(join(root, "src/caps"));
  const capabilities = folders.map(({ capability }) => capability);
  const outputs = new Map<string, string>([
    ["src/caps/tables.generated.ts", renderTables(folders)],
    ["src/caps/plugins.generated.ts", renderPlugins(folders)],
    ["src/protocol/spellings.generated.ts", renderSpellings(folders)],
    ["src/rights/known-calls.generated.ts", renderKnownCalls([core, ...capabilities])],
    ["package.json", renderPackage(await readFile(join(root, "package.json"), "utf8"), folders)],
    [`${referenceDir}/a2e.schema.json`, `${JSON.stringify(createProtocolSchema(capabilities), undefined, 2)}\n`],
  ]);
  const readme = await renderReadme(root);
  if (readme !== undefined) outputs.set("README.md", readme);
  for (const [name, page] of renderReference(folders)) outputs.set(`${referenceDir}/${name}`, page);
  for (const capability of [core, ...capabilities])
    outputs.set(`${vectorsDir}/${capability.name}.ndjson`, renderVectors(capability));
  return outputs;
}

/** Paths whose content is outdated, and files that should not exist. */
export async function findOutdated(root: string, outputs: Outputs): Promise<string[]> {
  const outdated: string[] = [];
  for (const [path, content] of outputs) {
    const found = await readFile(join(root, path), "utf8").catch(() => undefined);
    if (found !== content) outdated.push(path);
  }
  for (const folder of ownedDirs) {
    const names = existsSync(join(root, folder)) ? await readdir(join(root, folder)) : [];
    outdated.push(...names.map((name) => `${folder}/${name}`).filter((path) => !outputs.has(path)));
  }
  return outdated;
}

/** Brings the named files up to date. */
export async function writeOutputs(root: string, outputs: Outputs, outdated: readonly string[]): Promise<void> {
  for (const path of outdated) {
    const content = outputs.get(path);
    const target = join(root, path);
    if (content === undefined) await rm(target);
    else {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
    }
  }
}
