// What does a call cost through a pipe to a child process?
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createSubprocessTransport } from "../src/transports/stdio/subprocess.ts";
import { connectEcho } from "./lib/a2e-client.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import { childPids } from "./lib/cpu.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";
import { connectMcp } from "./lib/mcp-client.ts";
import { assertEcho, type RawMessage, rawRequest } from "./lib/workload.ts";

export const benchmark: Benchmark = {
  id: "stdio",
  title: "tool call to a child process, one in flight, both on one core",
  cases: {
    a2e: { title: "a2e, subprocess transport", isPinned: true, start: startOurs },
    mcp: { title: "MCP SDK, stdio", isPinned: true, start: startMcp },
    raw: { title: "bare NDJSON echo", isPinned: true, start: startRaw },
  },
  bars: [
    {
      id: "stdio.mcp",
      ours: "a2e",
      peer: "mcp",
      measure: "perSecond",
      atLeast: 2.5,
      claim: "tool calls per second over stdio, MCP SDK = 1",
    },
    { id: "stdio.raw", ours: "a2e", peer: "raw", measure: "perSecond", atLeast: 0.75 },
  ],
};

function commandOf(server: string): { command: string; args: string[] } {
  const script = fileURLToPath(new URL(`./servers/${server}.js`, import.meta.url));
  return { command: process.execPath, args: [...process.execArgv, script] };
}

async function startOurs(): Promise<RunningCase> {
  const { client, call } = await connectEcho(createSubprocessTransport(commandOf("a2e-stdio")));
  return { round: roundOf(call), close: () => client.disconnect() };
}

async function startMcp(): Promise<RunningCase> {
  const { call, close } = await connectMcp(new StdioClientTransport(commandOf("mcp-stdio")));
  return { round: roundOf(call), close };
}

async function startRaw(): Promise<RunningCase> {
  const { command, args } = commandOf("raw-stdio");
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map<string, (answer: RawMessage) => void>();
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const answer = JSON.parse(line) as RawMessage;
      const id = String(answer.req_id);
      waiting.get(id)?.(answer);
      waiting.delete(id);
    }
  });
  let count = 0;
  const call = () => {
    count += 1;
    const id = String(count);
    child.stdin.write(`${JSON.stringify(rawRequest(id))}\n`);
    return new Promise<RawMessage>((resolve) => waiting.set(id, resolve));
  };
  assertEcho((await call()).text);
  return {
    round: roundOf(call),
    async close() {
      const hasExited = once(child, "exit");
      child.stdin.end();
      await hasExited;
    },
  };
}

function roundOf(call: () => Promise<unknown>): RunningCase["round"] {
  const pids = childPids();
  return (ms) => runClosedLoop(call, { ms, inFlight: 1, pids });
}
