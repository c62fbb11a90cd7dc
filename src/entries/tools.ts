// The public subpath `a2e/tools`: define tools, and the plugin that serves them.
export { defineTool, type MarkedOutput, type ToolSpec, toolOutput } from "../caps/tools/definition/define-tool.ts";
export { toolLimits } from "../caps/tools/limits.ts";
export { type ToolsPluginOptions, toolsPlugin } from "../caps/tools/plugin.ts";
export { type ToolDefinition, type ToolParameter, type ToolResult, tools } from "../caps/tools/protocol.ts";
export type { CallContext } from "../host/call-context.ts";
export type { CatalogueTool, ToolProblem } from "../host/tool-catalogue.ts";
export type { ToolOutput } from "../host/tool-output.ts";
