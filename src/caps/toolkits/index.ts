// The public subpath `a2e/toolkits`: define toolkits, and the plugin that serves them.

export type { CallContext } from "../../plugin/call-context.ts";
export {
  defineToolkit,
  type Running,
  type StartContext,
  type Toolkit,
  type ToolkitOutput,
  type ToolkitSpec,
  type ToolkitTool,
  toolkitOutput,
} from "./define-toolkit.ts";
export { toolkitLimits } from "./limits.ts";
export { type ToolkitsPluginOptions, toolkitsPlugin } from "./plugin.ts";
export { type ToolkitDefinition, toolkits } from "./protocol.ts";
