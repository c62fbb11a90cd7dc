// The public subpath `a2e/tools`: define tools, and the plugin that serves them.

export type { CallContext } from "../../plugin/call-context.ts";
export type { CatalogueTool, ToolProblem } from "../../plugin/tool-catalogue.ts";
export type { ToolOutput } from "../../plugin/tool-output.ts";
export { defineTool, type MarkedOutput, type ToolSpec, toolOutput } from "./definition/define-tool.ts";
export { toolLimits } from "./limits.ts";
export { type ToolsPluginOptions, toolsPlugin } from "./plugin.ts";
export { type ToolDefinition, type ToolParameter, type ToolResult, tools } from "./protocol.ts";
