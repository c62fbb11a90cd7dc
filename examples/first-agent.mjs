import { connect } from "a2e";

const client = await connect(process.env.A2E_URL ?? "http://127.0.0.1:8765");

const { tools } = await client.tools.list();
console.log("tools:", tools.map((tool) => tool.name).join(", "));

const { data } = await client.tools.call(
  { tool_name: "js_eval", arguments: { code: "for (const n of [1, 2, 3]) console.log(n * n); 6 * 7" } },
  { onEvent: (event) => console.log("event:", event.kind, event.data) },
);
console.log("result:", data.data);

await client.disconnect();
