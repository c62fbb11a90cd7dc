// A session that has the reference MCP server, for the requirements of the mcp capability.
import { existsSync } from "node:fs";
import type { Message } from "../../../protocol/envelope.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { asArray, asObject, checkType, skip } from "../../check.ts";
import type { Context } from "../../context.ts";
import type { Peer } from "../../peer.ts";
import { referenceMcpCommand } from "../../reference-mcp.ts";

export const needsMcp = { capability: "mcp" } as const;
export const server_id = "reference";
export const referenceServer = {
  server_id,
  transport: "stdio",
  cmd: referenceMcpCommand,
  permissions: { sampling: true, elicitation: true, roots: true },
};

/** Gives a session the reference server for as long as the work takes. */
export async function withServer(
  { agent }: Pick<Context, "agent">,
  work: (peer: Peer) => Promise<void>,
): Promise<void> {
  const peer = await agent();
  checkType(await register(peer), "mcp/server/register/resp");
  try {
    await work(peer);
  } finally {
    await peer.request("mcp/server/unregister/req", { server_id });
  }
}

export async function register(
  peer: Peer,
  fields: object = { config: referenceServer },
  type = "mcp/server/register/req",
): Promise<Message> {
  if (!existsSync(referenceMcpCommand[1])) skip("the reference MCP server is not installed");
  const answer = await peer.request(type, fields);
  if (answer.type === "error" && answer.code === "forbidden")
    skip("the host does not let agents register the reference MCP server (a2e/conformance exports its command)");
  return answer;
}

/** The result of a tool. */
export function resultOf(answer: Message): JsonObject {
  return asObject(checkType(answer, "tool/call/resp").data, "data");
}

/** The first text of that. */
export function textOf(answer: Message): unknown {
  const { content } = asObject(resultOf(answer).data, "data.data");
  return asObject(asArray(content, "content")[0], "content[0]").text;
}
