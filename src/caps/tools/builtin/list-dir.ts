import { lstat } from "node:fs/promises";
import { z } from "zod";
import type { Workspace } from "../../../machinery/confinement/workspace.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { defineTool, toolOutput } from "../definition/define-tool.ts";
import { type FolderEntry, walkFolder } from "../folder-walk.ts";
import { toolLimits } from "../limits.ts";
import type { BuiltinEnvironment } from "./environment.ts";

export function listDirTool({ workspace }: BuiltinEnvironment): CatalogueTool {
  return defineTool({
    name: "list_dir",
    description: "Lists a folder of the workspace with types and sizes, on request with the folders below it.",
    tags: ["files", "read"],
    idempotent: true,
    input: z.object({
      path: z.string().default(".").describe("Path relative to the workspace."),
      recursive: z.boolean().default(false),
      max_depth: z.int().min(1).max(toolLimits.maxFolderDepth).default(5).describe("Levels to list when recursive."),
      max_entries: z.int().min(1).max(toolLimits.maxEntries).default(1000),
      include_ignored: z.boolean().default(false).describe("Look into .git and node_modules too."),
    }),
    async run({ path, recursive, max_depth, max_entries, include_ignored }, { signal }) {
      const start = await workspace.resolve(path);
      const options = { maxDepth: recursive ? max_depth : 1, includeIgnored: include_ignored, signal };
      const entries: JsonObject[] = [];
      let truncated = false;
      for await (const entry of walkFolder(workspace, start, options)) {
        truncated = entries.length >= max_entries;
        if (truncated) break;
        entries.push(await describeEntry(workspace, entry));
      }
      return toolOutput({ data: { path: start.join("/") || ".", entries }, truncated });
    },
  });
}

async function describeEntry(workspace: Workspace, { segments, type }: FolderEntry): Promise<JsonObject> {
  const path = segments.join("/");
  if (type !== "file") return { path, type };
  const folder = await workspace.openFolder(segments.slice(0, -1)).catch(() => undefined);
  try {
    const size_bytes = folder === undefined ? null : (await lstat(`${folder.path}/${segments.at(-1)}`)).size;
    return { path, type, size_bytes };
  } catch {
    return { path, type, size_bytes: null };
  } finally {
    await folder?.close();
  }
}
