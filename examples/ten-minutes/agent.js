// @ts-check
// An agent with a plan, a tool, a process and a memory. Run it twice: the second run remembers the first.
import { connect } from "a2e";

// The agent id is the owner of the plan and of the memory, so both runs use the same one.
const client = await connect(process.env.A2E_URL ?? "http://127.0.0.1:8765", { agentId: "ten-minutes" });
const { planning, tools, proc, memory } = client;

// 1. Memory: what did the last run find out?
await memory.init({ namespace: "ten-minutes" });
const { entries } = await memory.retrieve({ tier: "episodic", keys: ["longest word"] });
console.log("memory:", entries[0] === undefined ? "this is the first run" : `last time it was "${entries[0].content}"`);

// 2. A plan with two tasks; the second depends on the first.
const { plan_id } = await planning.createPlan({ name: "sort words", columns: ["todo", "done"] });
const { task_id: split } = await planning.addTask({ plan_id, title: "split the text", status: "todo" });
await planning.addTask({ plan_id, title: "sort the words", status: "todo", deps: [split] });
const done = (/** @type {string} */ task_id) => planning.updateTask({ plan_id, task_id, status: "done" });

// 3. Your own tool does the first task.
const { data } = await tools.call({ tool_name: "word_list", arguments: { text: "The quick brown fox jumps" } });
const { lines } = /** @type {{ lines: string }} */ (data.data);
await done(split);

// 4. Only now is the second task ready. A program of the machine does it, in a sandbox.
const { tasks: ready } = await planning.ready({ plan_id });
console.log("ready:", ready[0]?.title);
const { proc_id, ok, error } = await proc.spawn({ cmd: ["sort"] });
if (!ok) throw new Error(error);
await proc.write({ proc_id, data: lines, eof: true });
let sorted = "";
for (let isRunning = true, cursor = 0; isRunning; ) {
  const read = await proc.read({ proc_id, cursor, wait_ms: 5000 });
  for (const chunk of read.chunks) sorted += chunk.text;
  cursor = read.next_cursor;
  isRunning = read.exit_code === null;
}
console.log("sorted:", sorted.trim().split("\n").join(", "));
if (ready[0] !== undefined) await done(ready[0].task_id);

// 5. Remember the result for the next run.
const longest = lines.split("\n").reduce((best, word) => (word.length > best.length ? word : best), "");
await memory.store({ entries: [{ key: "longest word", content: longest, tier: "episodic" }] });

await client.disconnect();
