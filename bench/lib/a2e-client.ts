// Our client over whatever transport the question is about.
import { tools } from "../../src/caps/tools/protocol.ts";
import { A2EClient } from "../../src/client/client.ts";
import type { Transport } from "../../src/protocol/transport.ts";
import { assertEcho, text } from "./workload.ts";

export interface EchoClient {
  readonly client: A2EClient;
  call(): Promise<unknown>;
}

export async function connectEcho(transport: Transport): Promise<EchoClient> {
  const client = await A2EClient.connect({ transport, capabilities: ["tools"] });
  const api = client.use(tools);
  const call = () => api.call({ tool_name: "echo", arguments: { text } });
  const { data } = await call();
  assertEcho((data.data as { text?: unknown } | null)?.text);
  return { client, call };
}
