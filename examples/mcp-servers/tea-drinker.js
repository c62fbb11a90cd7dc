// @ts-check
// An agent that uses an MCP server through a host: its tools, its resource, and its wish for a completion.
import { connect } from "a2e";
import { mcp } from "a2e/mcp";

const client = await connect(process.env.A2E_URL ?? "http://127.0.0.1:8765");

// The server starts with the host. If its tools are not listed yet, a push announces them.
const hasTools = new Promise((resolve) => client.onPush("tool/changed", resolve));
let { tools } = await client.tools.list();
if (tools.length === 0) {
  await hasTools;
  ({ tools } = await client.tools.list());
}
console.log(`tools: ${tools.map(({ name }) => name).join(", ")}`);

const { data: brewed } = await client.tools.call(
  { tool_name: "tea__brew", arguments: { cups: 2 } },
  { onEvent: ({ data }) => console.log(`progress: ${data.progress} of ${data.total}`) },
);
console.log(`brewed: ${JSON.stringify(brewed.data)}`);

const { contents } = await client.mcp.readResource({ uri: "tea://menu" });
console.log(`menu: ${contents[0]?.text}`);

// Here a model would be asked.
client.onAsk(mcp.asks.sample, async ({ messages }) => {
  console.log(`the server asks: ${JSON.stringify(messages[0]?.content)}`);
  return { content: { type: "text", text: "Green Lightning" }, model: "none" };
});
const { data: named } = await client.tools.call({ tool_name: "tea__name_blend" });
console.log(`name: ${JSON.stringify(named.data)}`);

await client.disconnect();
