// Finds the capabilities of the product: each folder in src/caps that has a table is one.
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import type { Capability } from "../../src/protocol/table/capability.ts";

export interface CapabilityFolder {
  readonly folder: string;
  /** The name of the table in its module, and of its API on a client: `client.<exportName>`. */
  readonly exportName: string;
  readonly capability: Capability;
  readonly hasPlugin: boolean;
  /** Whether the folder has an `index.ts` with the exports of the subpath `a2e/<folder>`. */
  readonly hasEntry: boolean;
  /** The options for a config, if the folder has an `options.ts` that exports `optionsSchema`. */
  readonly options: z.ZodObject | undefined;
}

export async function readCapabilityFolders(capsDir: string): Promise<CapabilityFolder[]> {
  const entries = await readdir(capsDir, { withFileTypes: true });
  const folders = entries.filter(
    (entry) => entry.isDirectory() && existsSync(join(capsDir, entry.name, "protocol.ts")),
  );
  const names = folders.map(({ name }) => name).sort();
  return Promise.all(names.map((name) => readFolder(capsDir, name)));
}

async function readFolder(capsDir: string, folder: string): Promise<CapabilityFolder> {
  const found = Object.entries(await importModule(capsDir, folder, "protocol.ts")).filter(([, value]) =>
    isTable(value),
  );
  const [table, second] = found;
  if (table === undefined || second !== undefined) {
    throw new Error(`src/caps/${folder}/protocol.ts must export one capability; it exports ${found.length}`);
  }
  const optionsModule = existsSync(join(capsDir, folder, "options.ts"))
    ? await importModule(capsDir, folder, "options.ts")
    : {};
  return {
    folder,
    exportName: table[0],
    capability: table[1] as Capability,
    hasPlugin: existsSync(join(capsDir, folder, "plugin.ts")),
    hasEntry: existsSync(join(capsDir, folder, "index.ts")),
    options: optionsModule.optionsSchema instanceof z.ZodObject ? optionsModule.optionsSchema : undefined,
  };
}

async function importModule(capsDir: string, folder: string, file: string): Promise<Record<string, unknown>> {
  return (await import(pathToFileURL(join(capsDir, folder, file)).href)) as Record<string, unknown>;
}

function isTable(value: unknown): value is Capability {
  if (typeof value !== "object" || value === null) return false;
  const { name, calls, pushes } = value as Partial<Capability>;
  return typeof name === "string" && typeof calls === "object" && typeof pushes === "object";
}
