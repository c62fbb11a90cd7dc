// Every command with its line of help. The code of a command is loaded only when it is called.
import type { Command } from "commander";
import type { Terminal } from "./terminal.ts";

/** The export of a command's file: adds arguments, options, examples and the action. */
export type DefineCommand = (command: Command, terminal: Terminal) => void;

interface CommandEntry {
  readonly summary: string;
  load(): Promise<{ define: DefineCommand }>;
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: { summary: "run a host that agents reach over HTTP", load: () => import("./commands/serve.ts") },
  stdio: { summary: "run a host for the agent that started it", load: () => import("./commands/stdio.ts") },
  mcp: {
    summary: "run a host for an MCP client: a desktop assistant, an editor",
    load: () => import("./commands/mcp.ts"),
  },
  init: { summary: "write a commented config file", load: () => import("./commands/init.ts") },
  tools: { summary: "list the tools of a host", load: () => import("./commands/tools.ts") },
  call: { summary: "call a tool of a host", load: () => import("./commands/call.ts") },
  skills: { summary: "make, list, run and test skills", load: () => import("./commands/skills.ts") },
  chain: { summary: "run, check and draw chains", load: () => import("./commands/chain.ts") },
  sessions: { summary: "list the sessions of a running host", load: () => import("./commands/sessions.ts") },
  policy: { summary: "explain what a role may do", load: () => import("./commands/policy.ts") },
  keys: { summary: "create, list, revoke and rotate API keys", load: () => import("./commands/keys.ts") },
  token: { summary: "narrow a token for another agent, show a token", load: () => import("./commands/token.ts") },
  audit: { summary: "verify and prove what a host has logged", load: () => import("./commands/audit.ts") },
  replay: { summary: "run a recorded session again and compare", load: () => import("./commands/replay.ts") },
  conformance: { summary: "score any host against the protocol", load: () => import("./commands/conformance.ts") },
  doctor: { summary: "check whether this machine can run a host", load: () => import("./commands/doctor.ts") },
};
