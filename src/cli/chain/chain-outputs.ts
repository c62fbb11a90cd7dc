// Large outputs of a run, which the host answers as references: fetched while it is still there.
import { chains } from "../../caps/chains/protocol.ts";
import type { A2EClient } from "../../client/client.ts";
import { isJsonObject, type JsonValue } from "../../protocol/json.ts";
import type { ResultOf } from "../../protocol/table/capability.ts";

type RunResult = ResultOf<(typeof chains.calls)["run"]>;

/**
 * The same result with the outputs themselves. An output that the host has dropped in the meantime stays a reference.
 */
export async function withLargeOutputs(result: RunResult, client: A2EClient): Promise<RunResult> {
  const outputs = { ...result.outputs };
  for (const [id, output] of Object.entries(outputs)) {
    if (isReference(output)) outputs[id] = (await read(client, result.run_id, id)) ?? output;
  }
  return { ...result, outputs, final_output: inline(result.final_output, outputs) };
}

function isReference(value: JsonValue): value is { $ref: string; node_id: string } {
  return isJsonObject(value) && value.$ref === "chain/output" && typeof value.node_id === "string";
}

/** The final output is one of the outputs, or several outputs by their nodes. */
function inline(value: JsonValue, outputs: Record<string, JsonValue>): JsonValue {
  if (isReference(value)) return outputs[value.node_id] ?? value;
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([id, output]) => [
      id,
      isReference(output) ? (outputs[output.node_id] ?? output) : output,
    ]),
  );
}

async function read(client: A2EClient, run_id: string, node_id: string): Promise<JsonValue | undefined> {
  const api = client.use(chains);
  let text = "";
  try {
    for (let offset: number | null = 0; offset !== null; ) {
      const page: ResultOf<(typeof chains.calls)["output"]> = await api.output({
        run_id,
        node_id,
        offset,
        limit: 1024 * 1024,
      });
      text += page.text;
      // A host that does not get on would never end.
      if (page.next_offset !== null && page.next_offset <= offset) return undefined;
      offset = page.next_offset;
    }
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
