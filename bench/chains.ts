// What does a graph of 100 nodes cost that do nothing? Every graph comes as data and is checked before it runs.
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { PGraph } from "p-graph";
import { z } from "zod";
import { chainsPlugin } from "../src/caps/chains/plugin.ts";
import { type ChainNode, chains } from "../src/caps/chains/protocol.ts";
import { defineTool } from "../src/caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../src/caps/tools/plugin.ts";
import { A2EClient } from "../src/client/client.ts";
import { createDirectTransport } from "../src/transports/direct.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";
import { startAuditedHost } from "./servers/audited-host.ts";

type Shape = "linear" | "fanout";

const nodeCount = 100;
/** The audit log writes when the event loop gets its turn, so graphs leave it one; all cases alike. */
const loop = { inFlight: 1, yieldEvery: 16 };

export const benchmark: Benchmark = {
  id: "chains",
  title: `a graph of ${nodeCount} no-op nodes, sent and run; events off, tools validated, audit on`,
  cases: {
    linear: { title: "a2e, one after the other", start: () => startChains("linear") },
    fanout: { title: "a2e, one, 98 at once, one", start: () => startChains("fanout") },
    "langgraph-linear": { title: "LangGraph.js, one after the other", start: () => startLangGraph("linear") },
    "langgraph-fanout": { title: "LangGraph.js, one, 98 at once, one", start: () => startLangGraph("fanout") },
    "pgraph-linear": { title: "p-graph, one after the other", start: () => startPGraph("linear") },
    "pgraph-fanout": { title: "p-graph, one, 98 at once, one", start: () => startPGraph("fanout") },
    // Either side without what the other has above: a chain that no host has seen, and a graph that is kept.
    "new-linear": { title: "a2e, another chain each time, linear", start: () => startChains("linear", true) },
    "new-fanout": { title: "a2e, another chain each time, fan-out", start: () => startChains("fanout", true) },
    "kept-linear": { title: "p-graph built once, linear", start: () => startPGraph("linear", true) },
    "kept-fanout": { title: "p-graph built once, fan-out", start: () => startPGraph("fanout", true) },
  },
  bars: [
    {
      id: "chains.langgraph.linear",
      ours: "linear",
      peer: "langgraph-linear",
      measure: "perSecond",
      atLeast: 50,
      claim: "graphs of 100 nodes per second, LangGraph.js = 1",
    },
    { id: "chains.langgraph.fanout", ours: "fanout", peer: "langgraph-fanout", measure: "perSecond", atLeast: 50 },
    {
      id: "chains.pgraph.linear",
      ours: "linear",
      peer: "pgraph-linear",
      measure: "perSecond",
      atLeast: 10,
      claim: "the same, p-graph running bare functions = 1",
    },
    { id: "chains.pgraph.fanout", ours: "fanout", peer: "pgraph-fanout", measure: "perSecond", atLeast: 10 },
  ],
};

/** The nodes that a node waits for. */
function depsOf(shape: Shape, index: number): number[] {
  if (index === 0) return [];
  if (shape === "linear") return [index - 1];
  return index < nodeCount - 1 ? [0] : Array.from({ length: nodeCount - 2 }, (_, middle) => middle + 1);
}

const ids = Array.from({ length: nodeCount }, (_, index) => `node-${index}`);
const idOf = (index: number) => ids[index] as string;

/** The same chain over and over is compiled once by the host, which then only compares it; one that `isNew` is not. */
async function startChains(shape: Shape, isNew = false): Promise<RunningCase> {
  let sent = 0;
  const nodes: ChainNode[] = ids.map((node_id, index) => ({
    node_id,
    kind: "tool",
    name: "nothing",
    deps: depsOf(shape, index).map(idOf),
  }));
  const nothing = defineTool({
    name: "nothing",
    description: "Does nothing.",
    input: z.object({}),
    pure: true,
    run: () => ({}),
  });
  return {
    /** A host per round: its audit log is counted afterwards, and must tell of every chain. */
    async round(ms) {
      const plugins = [toolsPlugin({ builtin: false, tools: [nothing] }), chainsPlugin()];
      const { host, close } = await startAuditedHost({ plugins });
      const transport = createDirectTransport(() => host.sessions.create());
      const client = await A2EClient.connect({ transport, capabilities: ["tools", chains.name] });
      const api = client.use(chains);
      const sample = await runClosedLoop(
        async () => {
          if (isNew) nodes[0] = { ...nodes[0], retry_delay: ++sent };
          const { success, nodes_run } = await api.run({ nodes, streaming: false });
          if (!success || nodes_run !== nodeCount) throw new Error(`${nodes_run} nodes ran`);
        },
        { ms, ...loop },
      );
      await client.disconnect();
      const audited = await close("chain/req");
      if (audited !== sample.calls) throw new Error(`${sample.calls} chains ran and ${audited} are in the audit log`);
      return sample;
    },
    async close() {},
  };
}

/** Built from its description each time, as a graph that an agent sends is not known beforehand; or once, where it is kept. */
async function startPGraph(shape: Shape, isKept = false): Promise<RunningCase> {
  let ran = 0;
  const run = async () => {
    ran += 1;
  };
  const nodes = ids.map((id) => [id, { run }] as const);
  const dependencies = ids.flatMap((id, index) => depsOf(shape, index).map((dep): [string, string] => [idOf(dep), id]));
  const build = () => new PGraph(new Map(nodes), dependencies);
  const kept = isKept ? build() : undefined;
  const runGraph = async () => {
    ran = 0;
    await (kept ?? build()).run();
    if (ran !== nodeCount) throw new Error(`${ran} nodes ran`);
  };
  return { round: (ms) => runClosedLoop(runGraph, { ms, ...loop }), async close() {} };
}

/** Compiled once: it would be slower still otherwise. */
async function startLangGraph(shape: Shape): Promise<RunningCase> {
  // Each step listens to one signal, which Node takes for a leak.
  process.removeAllListeners("warning");
  let ran = 0;
  const state = Annotation.Root({ value: Annotation<number>() });
  let graph = new StateGraph(state) as StateGraph<typeof state.spec, typeof state.State, object, string>;
  for (const id of ids) {
    graph = graph.addNode(id, () => {
      ran += 1;
      return {};
    });
  }
  graph.addEdge(START, idOf(0));
  for (let index = 1; index < nodeCount; index++) graph.addEdge(depsOf(shape, index).map(idOf), idOf(index));
  graph.addEdge(idOf(nodeCount - 1), END);
  const compiled = graph.compile();
  const runGraph = async () => {
    ran = 0;
    await compiled.invoke({ value: 1 }, { recursionLimit: nodeCount + 10 });
    if (ran !== nodeCount) throw new Error(`${ran} nodes ran`);
  };
  return { round: (ms) => runClosedLoop(runGraph, { ms, ...loop }), async close() {} };
}
