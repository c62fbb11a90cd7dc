import { z } from "zod";
import type { CatalogueTool } from "../../../host/tool-catalogue.ts";
import { defineTool, toolOutput } from "../define-tool.ts";
import { walkFolder } from "../folder-walk.ts";
import { toolLimits } from "../limits.ts";
import { createPathWildcard } from "../wildcard.ts";
import type { BuiltinEnvironment } from "./environment.ts";

export function globTool({ workspace }: BuiltinEnvironment): CatalogueTool {
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
    async run({ pattern, path, max_results, include_ignored }, { signal }) {
      const matches = createPathWildcard(pattern);
      const start = await workspace.resolve(path);
      const paths: string[] = [];
      const options = { maxDepth: toolLimits.maxFolderDepth, includeIgnored: include_ignored, signal };
      const walk = walkFolder(workspace, start, options);
      for (let step = await walk.next(); ; step = await walk.next()) {
        if (step.done) return toolOutput({ data: { paths }, truncated: step.value });
        const { segments, type } = step.value;
        if (type !== "file" || !matches(segments.slice(start.length).join("/"))) continue;
        if (paths.length >= max_results) return toolOutput({ data: { paths }, truncated: true });
        paths.push(segments.join("/"));
      }
    },
  });
}
