import * as z from "zod";
import { isJsonObject, jsonObject, jsonValue } from "../../protocol/json.ts";
import { ask, call, capability } from "../../protocol/table/capability.ts";

/** The limits of messages; src/caps/chains/limits.ts has the limits of the host. */
export const messageLimits = {
  /** Characters of a node's id. */
  maxIdLength: 200,
  /** Characters of an expression. */
  maxExpressionLength: 4000,
  maxRetries: 20,
  /** Characters in one page of a large output. */
  maxPageLength: 1024 * 1024,
} as const satisfies Record<string, number>;

/**
 * A node, in the SDK's shape and in the documentation's. No field has a default, so that a chain of many nodes is
 * parsed quickly: defaults are filled in when the chain is compiled, and all problems are reported then.
 */
export const chainNode = z.object({
  node_id: z.string().optional(),
  id: z.string().optional().describe("The documentation's name of `node_id`."),
  kind: z
    .string()
    .optional()
    .describe("tool, skill, proc, action (a tool or skill by name), branch, map, gather, reduce or approval."),
  type: z.string().optional().describe("The documentation's name of `kind`."),
  name: z.string().optional().describe("The name of the tool, the skill, the program, or the function of a reduce."),
  action: z.string().optional().describe("The documentation's name of `name`."),
  input: jsonObject.optional().describe("Fixed input; fields of `input_map` override it."),
  input_map: jsonObject
    .optional()
    .describe("Input by expressions: `$.node.field` or JMESPath. A value that is not a text is used as it is."),
  deps: z.array(z.string()).optional().describe("Nodes to wait for."),
  depends_on: z.array(z.string()).optional().describe("The documentation's name of `deps`."),
  next_node: z.string().optional(),
  condition: z
    .string()
    .optional()
    .describe("Of a branch: a comparison, or an expression whose value counts as true unless it is empty."),
  true_node: z.string().optional(),
  false_node: z.string().optional(),
  items_path: z.string().optional().describe("Of a map or reduce: the expression that gives the list."),
  items: jsonValue.optional().describe("The same, or the list itself."),
  map_node: z
    .string()
    .optional()
    .describe("Of a map: the node to run for every item, with the item as `item` and `_item`."),
  max_parallel: z.int().optional().describe("Of a map: items at once."),
  on_error: z.string().optional().describe("abort, skip, or the node to continue with."),
  retries: z.int().optional().describe("How often a retryable failure is retried."),
  retry_delay: z.number().optional().describe("Seconds before the first retry; doubles with each. 0.5 by default."),
  timeout: z.number().optional().describe("Seconds until an attempt times out and its work is stopped."),
  message: z.string().optional().describe("Of an approval: the question to the agent."),
});

export type ChainNode = z.output<typeof chainNode>;

const problem = z.object({
  code: z.string().describe("chain_cycle, unknown_node, unreachable_node, unknown_tool, bad_expression, …"),
  message: z.string(),
  node_id: z.string().default(""),
  cycle: z.array(z.string()).optional(),
});

export type ChainProblem = z.output<typeof problem>;

const chain = {
  nodes: z.array(chainNode).default([]),
  entry_node: z
    .string()
    .default("")
    .describe("The node to start with; by default, every node that waits for no other."),
};

const runError = z.object({
  code: z
    .string()
    .describe(
      "bad_entry, chain_cycle or chain_error for a chain that did not start; chain_node_error (`detail.code` is the node's own), timeout or cancelled for a chain that did not end.",
    ),
  message: z.string(),
  node_id: z.string().default(""),
  detail: jsonObject.default({}),
  problems: z.array(problem).optional().describe("All problems of the chain, if it did not start."),
});

export type ChainRunError = z.output<typeof runError>;

const exampleNodes = [
  { node_id: "read", kind: "tool", name: "read_file", input: { path: "notes.txt" } },
  {
    node_id: "count",
    kind: "tool",
    name: "js_eval",
    input: { code: "input.content.length" },
    input_map: { input: "read" },
  },
];

const run = call("chain/req", "chain/resp", {
  asTool: { effect: "acts", name: "chain_run" },
  about: { access: "write", resource: "chain", from: "chain_id" },
  doc: "Runs a chain. A node starts as soon as the nodes that it waits for have ended. The answer is a result, also if the chain fails.",
  aliases: { "chain/execute": "chain/resp", "chain/execute/req": "chain/execute/resp" },
  request: z.object({
    session_id: z.string().default(""),
    chain_id: z.string().default("").describe("A name for the chain; by default, the id of the request."),
    ...chain,
    initial_input: jsonObject.default({}).describe("Expressions read its fields by name, or all of it as `input`."),
    correlation_id: z.string().default(""),
    streaming: z.boolean().default(true).describe("Send an event when a node starts, ends, fails or is skipped."),
    timeout: z.number().min(0).default(300).describe("Seconds for the whole chain; 0 for the limit of the host."),
    max_parallel: z
      .int()
      .min(0)
      .default(0)
      .describe("Nodes that run at once; 0 for the limit of the host. An extension of ours."),
  }),
  result: z.object({
    chain_id: z.string(),
    run_id: z.string().default("").describe("The id of the request. An extension of ours."),
    success: z.boolean(),
    outputs: jsonObject
      .default({})
      .describe(
        "By node. A large output is replaced by `{$ref, run_id, node_id, bytes}`: read it with chain/output/req.",
      ),
    final_output: jsonValue
      .nullable()
      .default(null)
      .describe("The output of the last node; by node if several are last."),
    duration_ms: z.int().default(0),
    nodes_run: z.int().default(0),
    error: runError.nullable().default(null),
    failed: z
      .array(z.string())
      .default([])
      .describe("Failed nodes, and failed items of maps as `node[index]`. An extension of ours."),
    skipped: z
      .array(z.string())
      .default([])
      .describe("Nodes that were skipped because no path led to them. An extension of ours."),
    errors: jsonObject.default({}).describe("`{code, message}` for each entry of `failed`. An extension of ours."),
  }),
  example: {
    request: { chain_id: "notes", nodes: exampleNodes },
    result: {
      chain_id: "notes",
      success: true,
      outputs: { read: { path: "notes.txt", content: "Twice a day the sea comes and goes.", lines: 1 }, count: 35 },
      final_output: 35,
      duration_ms: 12,
      nodes_run: 2,
    },
  },
});

/** Hosts that follow the documentation send the error of a run as a text. */
function withErrorObject(answer: unknown): unknown {
  if (!isJsonObject(answer) || typeof answer.error !== "string") return answer;
  return { ...answer, error: answer.error === "" ? null : { code: "chain_error", message: answer.error } };
}

export const chains = capability("chains", {
  doc: "Graphs of tools, skills and processes that the host runs itself, in parallel if their dependencies allow it, and resumes after a crash.",
  spellings: ["chain"],
  event: "chain/event",
  eventFields: ["node_id", "phase", "output", "error"],
  errors: {
    unknown_output: { retryable: false, doc: "The host has no large output of that node." },
  },
  resources: { chain: "A chain, by the chain_id that its agent chose." },
  calls: {
    run: { ...run, parseResult: (answer, name) => run.parseResult(withErrorObject(answer), name) },
    validate: call("chain/validate/req", "chain/validate/resp", {
      asTool: { effect: "reads" },
      about: { access: "read" },
      doc: "Lists all problems of a chain without running it. An extension of ours.",
      aliases: { "chain/validate": "chain/validate/resp" },
      request: z.object({
        ...chain,
        initial_input: jsonObject.optional().describe("If given, it must have every field that expressions read."),
      }),
      result: z.object({
        valid: z.boolean(),
        problems: z.array(problem).default([]),
        inputs: z.array(z.string()).default([]).describe("Fields that expressions read from the initial input."),
        levels: z.array(z.array(z.string())).default([]).describe("Nodes by the earliest step at which they can run."),
      }),
      example: {
        request: { nodes: [{ node_id: "a", kind: "tool", name: "echo", deps: ["a"] }] },
        result: {
          valid: false,
          problems: [
            { code: "chain_cycle", message: "nodes wait for each other: a → a", node_id: "a", cycle: ["a", "a"] },
          ],
        },
      },
    }),
    list: call("chain/list/req", "chain/list/resp", {
      asTool: { effect: "reads" },
      about: { access: "read", resource: "chain", shows: { at: "runs", name: "chain_id" } },
      doc: "Lists the runs of this session that are in progress, or were resumed and wait for their agent. An extension of ours.",
      aliases: { "chain/list": "chain/list/resp" },
      request: z.object({}),
      result: z.object({
        runs: z
          .array(
            z.object({
              run_id: z.string(),
              chain_id: z.string(),
              status: z.enum(["running", "answered"]),
              nodes_run: z.int(),
              nodes_total: z.int(),
              resumed: z.boolean().describe("The host was restarted during the run."),
            }),
          )
          .default([]),
      }),
      example: {
        request: {},
        result: {
          runs: [
            { run_id: "5d0c9a1b", chain_id: "notes", status: "running", nodes_run: 1, nodes_total: 2, resumed: true },
          ],
        },
      },
    }),
    cancel: call("chain/cancel/req", "chain/cancel/resp", {
      asTool: { effect: "destroys" },
      about: { access: "write", resource: "chain", instance: "run_id" },
      doc: "Stops a run, also a resumed run without a waiting request. An extension of ours.",
      request: z.object({ run_id: z.string() }),
      result: z.object({ cancelled: z.boolean().describe("False if no such run is in progress.") }),
      example: { request: { run_id: "5d0c9a1b" }, result: { cancelled: true } },
    }),
    output: call("chain/output/req", "chain/output/resp", {
      asTool: { effect: "reads" },
      about: { access: "read", resource: "chain", instance: "run_id" },
      doc: "Reads a large output as JSON text, page by page. An extension of ours.",
      request: z.object({
        run_id: z.string(),
        node_id: z.string(),
        offset: z.int().min(0).default(0).describe("In characters."),
        limit: z
          .int()
          .min(1)
          .max(messageLimits.maxPageLength)
          .default(64 * 1024),
      }),
      result: z.object({
        run_id: z.string(),
        node_id: z.string(),
        text: z.string(),
        offset: z.int(),
        next_offset: z.int().nullable().default(null).describe("The offset of the next page; null at the end."),
        total: z.int().describe("Characters of the whole output."),
      }),
      example: {
        request: { run_id: "5d0c9a1b", node_id: "read" },
        result: { run_id: "5d0c9a1b", node_id: "read", text: '{"text":"…"}', offset: 0, total: 12 },
      },
    }),
  },
  asks: {
    approve: ask("chain/approve/req", "chain/approve/resp", {
      doc: "A chain waits for the agent's approval before it continues. An extension of ours.",
      request: z.object({
        chain_id: z.string(),
        run_id: z.string(),
        node_id: z.string(),
        message: z.string().default(""),
        data: jsonObject.default({}).describe("The input of the node: the data to approve."),
      }),
      result: z.object({
        approved: z.boolean(),
        comment: z.string().default(""),
        data: jsonObject.optional().describe("Passed on to the nodes that follow."),
      }),
      example: {
        request: {
          chain_id: "release",
          run_id: "5d0c9a1b",
          node_id: "ok",
          message: "Publish?",
          data: { version: "1.2.0" },
        },
        result: { approved: true, comment: "go" },
      },
    }),
  },
});
