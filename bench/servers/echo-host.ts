// A host with one tool.
import { z } from "zod";
import { defineTool } from "../../src/caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../../src/caps/tools/plugin.ts";
import type { A2EHost } from "../../src/host/host.ts";
import { type AuditedHostOptions, startAuditedHost } from "./audited-host.ts";

export interface EchoHost {
  readonly host: A2EHost;
  /** Closes the host; resolves with the number of audit entries that tell of tool calls. */
  close(): Promise<number>;
}

const input = z.object({ text: z.string() });

/** What a tool author writes; the async one is answered a few microtasks later. */
const tools = {
  plain: defineTool({ name: "echo", description: "Returns its text.", input, run: ({ text }) => ({ text }) }),
  async: defineTool({ name: "echo", description: "Returns its text.", input, run: async ({ text }) => ({ text }) }),
};

export async function startEchoHost({
  tool = "plain",
  plugins = [],
  ...options
}: Partial<AuditedHostOptions> & { tool?: keyof typeof tools } = {}): Promise<EchoHost> {
  const { host, close } = await startAuditedHost({
    ...options,
    plugins: [toolsPlugin({ builtin: false, tools: [tools[tool]] }), ...plugins],
  });
  return { host, close: () => close("tool/call/req") };
}
