// The client for the conformance suite of the MCP project: a host whose agent uses one MCP server through the bridge.
// The suite starts it with the server's address as the last argument.
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { A2EClientError } from "../../../client/errors.ts";
import { createSqliteDatabase } from "../../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../../testing/start-host.ts";
import { toolsPlugin } from "../../tools/plugin.ts";
import { mcpPlugin } from "../plugin.ts";
import { mcp } from "../protocol.ts";
import type { ServerSettings } from "../server-config.ts";

const url = process.argv.at(-1) ?? "";
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}") as Record<string, string>;

const settings: ServerSettings = {
  url,
  transport: "http",
  scope: "session",
  auto_reconnect: false,
  permissions: { elicitation: true },
  ...(scenario.startsWith("auth/") ? { oauth: await toOAuth() } : {}),
};

async function toOAuth(): Promise<NonNullable<ServerSettings["oauth"]>> {
  const { client_id, client_secret, private_key_pem, signing_algorithm } = context;
  return {
    ...(client_id === undefined ? {} : { client_id }),
    ...(client_secret === undefined ? {} : { client_secret }),
    ...(private_key_pem === undefined ? {} : { private_key: private_key_pem }),
    ...(signing_algorithm === undefined ? {} : { signing_algorithm }),
    ...(scenario.startsWith("auth/client-credentials-") ? { grant: "client_credentials" } : {}),
    ...(context.idp_issuer === undefined ? {} : await toIdentityAssertion(context.idp_issuer)),
    // Its metadata names another issuer than its address.
    ...(scenario === "auth/2025-03-26-oauth-metadata-backcompat" ? { issuer: new URL("/oauth", url).href } : {}),
    client_metadata_url: "https://conformance-test.local/client-metadata.json",
  };
}

/** The operator's login program writes the user's token to a file. The suite runs this in a folder that it removes. */
async function toIdentityAssertion(issuer: string) {
  const id_token_file = resolve(`id-token-${process.pid}`);
  await writeFile(id_token_file, context.idp_id_token ?? "", { mode: 0o600 });
  const { idp_client_id: client_id = "", idp_token_endpoint: token_endpoint = "" } = context;
  const identity_provider = { issuer, token_endpoint, client_id, id_token_file };
  return { grant: "identity_assertion", identity_provider } as const;
}

/** A user who agrees to everything: follows the address and returns the callback address. */
async function authorize(address: string): Promise<string> {
  const response = await fetch(address, { redirect: "manual" });
  return response.headers.get("location") ?? "";
}

const database = await createSqliteDatabase({ path: ":memory:" });
const plugins = [
  toolsPlugin({ builtin: false }),
  mcpPlugin({
    servers: { peer: settings },
    ping_interval_ms: 0,
    connect_timeout_ms: 90_000,
    callback_url: "http://localhost:3000/callback",
  }),
] as const;
const { client, close } = await startHost({ plugins, database });
client.onAsk(mcp.asks.elicit, async () => ({ action: "accept", content: {} }));

/** Runs `work`, and authorises up to a few times if the server requires it. */
async function persist<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let left = 3; ; left--) {
    try {
      return await work();
    } catch (error) {
      const address = error instanceof A2EClientError ? error.detail.authorization_url : undefined;
      if (left === 0 || typeof address !== "string") throw error;
      await client.mcp.authorizeServer({ server_id: "peer", callback_url: await authorize(address) }).catch(() => {});
    }
  }
}

const toolArguments: Record<string, object> = { add_numbers: { a: 5, b: 3 } };
let exitCode = 0;
try {
  // Sends a request that only a ready server can answer.
  await persist(() => client.mcp.listPrompts({ server_id: "peer" })).catch((error: A2EClientError) => {
    if (error.code !== "mcp_capability_missing") throw error;
  });
  const { tools } = await client.tools.list({});
  for (const { name } of tools) {
    const args = toolArguments[name.replace("peer__", "")] ?? {};
    await persist(() => client.tools.call({ tool_name: name, arguments: args as never }));
  }
} catch (error) {
  console.error(error);
  exitCode = 1;
}
await close();
process.exit(exitCode);
