// A peer that floods a host: it posts bodies of a megabyte of two-byte lines, one after the other, and reads the answers.
import { get, request } from "node:http";

export interface FloodCommand {
  isFlooding: boolean;
}

const origin = `http://127.0.0.1:${process.argv[2]}`;
const body = "x\n".repeat(512 * 1024);
let isFlooding = false;

const created = await fetch(`${origin}/session`, { method: "POST" });
const { session_id } = (await created.json()) as { session_id: string };
const headers = { "x-session-id": session_id };
const agent = { agent_id: "flood", agent_caps: ["tools"] };
await post(JSON.stringify({ type: "handshake/req", id: "1", version: "1.0", ...agent }));
const stream = get(`${origin}/stream`, { headers }, (response) => void response.resume());

function post(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/send`, { method: "POST", headers }, (response) => {
      response.resume().on("end", resolve);
    });
    sent.on("error", reject);
    sent.end(text);
  });
}

async function flood(): Promise<void> {
  while (isFlooding) await post(body);
}

process.on("message", (command: FloodCommand) => {
  const wasFlooding = isFlooding;
  isFlooding = command.isFlooding;
  if (isFlooding && !wasFlooding) flood().catch(() => process.exit(1));
  process.send?.({});
});
process.on("disconnect", () => {
  stream.destroy();
  process.exit();
});
process.send?.({ port: 0 });
