// The MCP server that hosts are asked to bridge: a little of every feature, without a dependency on another package.
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (value) => ({ content: [{ type: "text", text: value }] });

/** Questions to the client that wait for an answer. */
const questions = new Map();
function ask(method, params = {}) {
  const id = `q${questions.size + 1}`;
  send({ id, method, params });
  return new Promise((resolve) => questions.set(id, resolve));
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const subscribed = new Set();

const tools = {
  echo: ({ text: given }) => text(String(given)),
  fail: () => ({ ...text("it did not work"), isError: true }),
  crash: () => process.exit(1),
  ghost() {
    throw Object.assign(new Error("Unknown tool: ghost"), { code: -32602 });
  },
  refuse() {
    throw Object.assign(new Error("not in the mood"), { code: -32000 });
  },
  hang: () => new Promise(() => {}),
  everything: () => ({
    content: [
      { type: "text", text: "words" },
      { type: "image", data: pixel, mimeType: "image/png" },
      { type: "audio", data: pixel, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "ref://text", mimeType: "text/plain", text: "inside" } },
    ],
    structuredContent: { answer: 42 },
  }),
  progress(_args, token) {
    for (const progress of [1, 2, 3])
      send({ method: "notifications/progress", params: { progressToken: token, progress, total: 3 } });
    return text("done");
  },
  touch({ uri }) {
    if (subscribed.has(uri)) send({ method: "notifications/resources/updated", params: { uri } });
    return text("touched");
  },
  async sample() {
    const messages = [{ role: "user", content: { type: "text", text: "Say something." } }];
    const { result, error } = await ask("sampling/createMessage", { messages, maxTokens: 7 });
    return text(error === undefined ? `it said: ${result.content.text}` : `refused: ${error.message}`);
  },
  async sample_or_fail() {
    const { error } = await ask("sampling/createMessage", { messages: [], maxTokens: 7 });
    throw Object.assign(new Error(error.message), { code: error.code });
  },
  async elicit() {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    const { result } = await ask("elicitation/create", { message: "Who are you?", requestedSchema });
    return text(`${result.action}: ${result.content?.name}`);
  },
  async roots() {
    const { result } = await ask("roots/list");
    return text(JSON.stringify(result.roots));
  },
};

/** Runs as a task only: is begun, looked at once while it works and once when it is done, and asked for its result. */
const taskTool = { name: "research", inputSchema: { type: "object" }, execution: { taskSupport: "required" } };
const task = { taskId: "task-1", ttl: null, pollInterval: 50, createdAt: "2025-11-25T00:00:00Z" };
let looks = 0;
const showTask = () => ({
  ...task,
  status: looks < 2 ? "working" : "completed",
  statusMessage: "reading",
  lastUpdatedAt: task.createdAt,
});

if (process.argv.includes("--die")) process.exit(1);
const isBare = process.argv.includes("--bare");

const contents = {
  "ref://text": { mimeType: "text/plain", text: "some text" },
  "ref://blob": { mimeType: "application/octet-stream", blob: "AAEC" },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: isBare
      ? { tools: {} }
      : { tools: {}, resources: { subscribe: true }, prompts: {}, tasks: { requests: { tools: { call: {} } } } },
    serverInfo: { name: "reference", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: [...Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })), taskTool],
  }),
  "tools/call"({ name, arguments: args = {}, task: wanted, _meta }) {
    if (name !== taskTool.name) return tools[name](args, _meta?.progressToken);
    if (wanted === undefined) throw Object.assign(new Error("It runs as a task only"), { code: -32601 });
    looks = 0;
    return { task: showTask() };
  },
  "tasks/get"() {
    looks += 1;
    return showTask();
  },
  "tasks/result": () => text("what was found"),
  "resources/list": ({ cursor }) =>
    cursor === "2"
      ? { resources: [{ uri: "ref://blob", name: "blob" }] }
      : { resources: [{ uri: "ref://text", name: "text", mimeType: "text/plain" }], nextCursor: "2" },
  "resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: "ref://{name}", name: "any" }] }),
  "resources/read"({ uri }) {
    if (contents[uri] === undefined) throw Object.assign(new Error("Resource not found"), { code: -32002 });
    return { contents: [{ uri, ...contents[uri] }] };
  },
  "resources/subscribe"({ uri }) {
    subscribed.add(uri);
    return {};
  },
  "resources/unsubscribe"({ uri }) {
    subscribed.delete(uri);
    return {};
  },
  "prompts/list": () => ({ prompts: [{ name: "greet", arguments: [{ name: "who", required: true }] }] }),
  "prompts/get"({ name, arguments: { who } = {} }) {
    if (name !== "greet") throw Object.assign(new Error(`Unknown prompt: ${name}`), { code: -32602 });
    return { messages: [{ role: "user", content: { type: "text", text: `Greet ${who}.` } }] };
  },
};

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const { id, method, params = {}, ...answer } = JSON.parse(line);
  if (method === undefined) return questions.get(id)?.(answer);
  if (id === undefined) return;
  try {
    if (methods[method] === undefined) throw Object.assign(new Error("Method not found"), { code: -32601 });
    send({ id, result: await methods[method](params) });
  } catch ({ code = -32603, message }) {
    send({ id, error: { code, message } });
  }
});
lines.on("close", () => process.exit(0));
