import { z } from "zod";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import { defineTool, toolOutput } from "../definition/define-tool.ts";
import { toolLimits } from "../limits.ts";
import type { BuiltinEnvironment } from "./environment.ts";
import type { GrepArguments, GrepResult } from "./grep-worker.ts";
import { runSearch } from "./search-job.ts";

export function grepTool({ workspace, searchPool }: BuiltinEnvironment): CatalogueTool {
  return defineTool({
    name: "grep",
    description: "Searches text files of the workspace for a JavaScript regular expression, line by line.",
    tags: ["files", "read", "search"],
    idempotent: true,
    input: z.object({
      pattern: z.string().min(1).max(1024).describe("A JavaScript regular expression."),
      path: z.string().default(".").describe("File or folder to search in."),
      glob: z.string().max(1024).default("").describe('Only files whose path below `path` matches, as in "**/*.ts".'),
      ignore_case: z.boolean().default(false),
      context: z.int().min(0).max(20).default(0).describe("Lines to show before and after each match."),
      max_results: z.int().min(1).max(toolLimits.maxEntries).default(200),
      include_ignored: z.boolean().default(false).describe("Look into .git and node_modules too."),
    }),
    async run({ path, ...args }, context) {
      checkPattern(args.pattern);
      const start = await workspace.resolve(path);
      const search: GrepArguments = { ...args, root: await workspace.root(), start };
      const { truncated, ...data } = await runSearch<GrepResult>(
        searchPool,
        ["grep-worker", "grepFiles"],
        search,
        context,
      );
      return toolOutput({ data, truncated });
    },
  });
}

function checkPattern(pattern: string): void {
  try {
    new RegExp(pattern, "u");
  } catch (error) {
    try {
      new RegExp(pattern);
    } catch {
      throw new Error(`the pattern is not a valid regular expression: ${(error as Error).message}`);
    }
  }
}
