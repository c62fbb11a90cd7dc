// @ts-check
// Hands the host a whole piece of work as one chain: writes files, reads them back at once, counts, asks for approval.
import { strict as assert } from "node:assert";
import { connect } from "a2e";
import { chains as table } from "a2e/chains";

const client = await connect(process.env.A2E_URL ?? "http://127.0.0.1:8765", { agentId: "word-counter" });
const { chains } = client;

// The host asks before it writes the report.
client.onAsk(table.asks.approve, async ({ message, data }) => {
  console.log(`${message} ${JSON.stringify(data)}`);
  return { approved: Number(data.words) < 100 };
});

const nodes = [
  { node_id: "write", kind: "map", items_path: "input.texts", map_node: "write-one" },
  {
    node_id: "write-one",
    kind: "tool",
    name: "write_file",
    input_map: { path: "item.path", content: "item.text" },
  },
  { node_id: "read", kind: "map", items_path: "input.texts[*].path", map_node: "read-one", deps: ["write"] },
  { node_id: "read-one", kind: "tool", name: "read_file", input_map: { path: "item" } },
  { node_id: "words", kind: "gather", input_map: { all: "read[*].split(content, ' ') | []" } },
  { node_id: "ok", kind: "approval", message: "write the report?", input_map: { words: "length(words.all)" } },
  {
    node_id: "report",
    kind: "tool",
    name: "write_file",
    input: { path: "report.txt" },
    input_map: { content: "join(', ', sort(words.all))" },
    deps: ["ok"],
  },
];
const texts = [
  { path: "one.txt", text: "the quick brown fox" },
  { path: "two.txt", text: "jumps over the lazy dog" },
];

const { valid, problems } = await chains.validate({ nodes });
assert(valid, JSON.stringify(problems));
const result = await chains.run(
  { chain_id: "word-count", nodes, initial_input: { texts } },
  { onEvent: ({ data }) => data.phase === "done" && console.log(`done: ${data.node_id}`) },
);
assert(result.success, JSON.stringify(result.error));
const { data } = await client.tools.call({ tool_name: "read_file", arguments: { path: "report.txt" } });
console.log(`report: ${/** @type {{ content: string }} */ (data.data).content}`);
await client.disconnect();
