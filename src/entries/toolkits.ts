// The public subpath `a2e/toolkits`: define toolkits, and the plugin that serves them.
export {
  defineToolkit,
  type Running,
  type StartContext,
  type Toolkit,
  type ToolkitOutput,
  type ToolkitSpec,
  type ToolkitTool,
  toolkitOutput,
} from "../caps/toolkits/define-toolkit.ts";
export { toolkitLimits } from "../caps/toolkits/limits.ts";
export { type ToolkitsPluginOptions, toolkitsPlugin } from "../caps/toolkits/plugin.ts";
export { type ToolkitDefinition, toolkits } from "../caps/toolkits/protocol.ts";
export type { CallContext } from "../host/call-context.ts";
