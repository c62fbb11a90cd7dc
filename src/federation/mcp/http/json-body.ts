import type { IncomingMessage } from "node:http";
import { isDeeperThan, type JsonValue, parseJson } from "../../../protocol/json.ts";
import type { Limits } from "../../../protocol/limits.ts";

/** Reads the body up to the limit. Rejects if the peer disconnects before its end. */
export async function readJsonBody(
  request: IncomingMessage,
  { maxBodyBytes: maxBytes, maxDepth }: Pick<Limits, "maxBodyBytes" | "maxDepth">,
): Promise<{ value: JsonValue } | "too-large" | "too-deep" | "not-json"> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return "too-large";
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) return "too-large";
    chunks.push(chunk as Buffer);
  }
  try {
    const value = parseJson(Buffer.concat(chunks).toString("utf8"));
    return isDeeperThan(value, maxDepth) ? "too-deep" : { value };
  } catch {
    return "not-json";
  }
}
