// The tools in the modules that a config names.

import { loadItems, type ModuleContent, type ModuleReference } from "../../../machinery/module-loading.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";

export const toolModules: ModuleContent<CatalogueTool> = {
  noun: "tool",
  madeWith: "defineTool",
  listName: "tools",
  isItem: isTool,
};

export async function loadTools(module: ModuleReference): Promise<CatalogueTool[]> {
  return (await loadItems(module, toolModules)).map((tool) => withSource(tool, module.name));
}

function isTool(value: unknown): value is CatalogueTool {
  if (typeof value !== "object" || value === null) return false;
  const tool = value as Partial<CatalogueTool>;
  const isRunnable = typeof tool.check === "function" && typeof tool.run === "function";
  return (
    isRunnable &&
    typeof tool.name === "string" &&
    typeof tool.description === "string" &&
    typeof tool.inputSchema === "object"
  );
}

/** Sets the source of a tool that has none. An instance of a class is left as it is, since a copy would lose its methods. */
export function withSource(tool: CatalogueTool, source: string): CatalogueTool {
  return tool.source === "" && Object.hasOwn(tool, "run") ? { ...tool, source } : tool;
}
