import { z } from "zod";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import { defineTool, toolOutput } from "../definition/define-tool.ts";
import { toolLimits } from "../limits.ts";
import type { BuiltinEnvironment } from "./environment.ts";
import type { GlobArguments, GlobResult } from "./glob-worker.ts";
import { runSearch } from "./search-job.ts";

export function globTool({ workspace, searchPool }: BuiltinEnvironment): CatalogueTool {
  return defineTool({
    name: "glob",
    description: 'Finds files of the workspace by a pattern such as "src/**/*.{ts,md}".',
    tags: ["files", "read", "search"],
    idempotent: true,
    input: z.object({
      pattern: z
        .string()
        .min(1)
        .max(1024)
        .describe("* within a name, ** across folders, ? one character, [a-z], {a,b}."),
      path: z.string().default(".").describe("Folder to search in; the pattern is relative to it."),
      max_results: z.int().min(1).max(toolLimits.maxEntries).default(1000),
      include_ignored: z.boolean().default(false).describe("Look into .git and node_modules too."),
    }),
    async run({ path, ...args }, context) {
      const start = await workspace.resolve(path);
      const search: GlobArguments = { ...args, root: await workspace.root(), start };
      const { truncated, ...data } = await runSearch<GlobResult>(
        searchPool,
        ["glob-worker", "findFiles"],
        search,
        context,
      );
      return toolOutput({ data, truncated });
    },
  });
}
