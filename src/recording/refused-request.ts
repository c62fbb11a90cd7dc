// A request that its table rejects may have a secret in any field, because the sender may have confused two fields. So
// only as much of it is recorded as a replay needs to reject it with the same error text.

import { A2EError } from "../protocol/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../protocol/json.ts";
import type { Call } from "../protocol/table/capability.ts";

/** The error text; undefined if the request is accepted. */
export function refusalOf(call: Call, request: JsonObject): string | undefined {
  const parsed = call.parseRequest(request);
  return parsed instanceof A2EError ? parsed.message : undefined;
}

type Way = (value: JsonValue | undefined) => JsonValue;

/**
 * From the least revealing way on; the later ways keep properties that a table may reject: the length of texts, and
 * their characters.
 */
const ways: readonly Way[] = [emptyLike, (value) => maskTexts(value, "x"), (value) => maskTexts(value, "?")];

/** With these fields concealed, each in the first way that leaves the refusal as it is. */
export function concealRefused(call: Call, request: JsonObject, names: readonly string[]): JsonObject {
  const refusal = refusalOf(call, request);
  let shown = request;
  for (const name of names) {
    const candidate = (conceal: Way): JsonObject => ({ ...shown, [name]: conceal(request[name]) });
    // If no way produces the same error text, the replay reports the difference.
    const way = ways.find((conceal) => refusalOf(call, candidate(conceal)) === refusal) ?? emptyLike;
    shown = candidate(way);
  }
  return shown;
}

/** Of the same type, so that it is refused or accepted as the original was. */
export function emptyLike(value: JsonValue | undefined): JsonValue {
  if (typeof value === "string") return "";
  if (typeof value === "number") return 0;
  if (typeof value === "boolean") return false;
  if (Array.isArray(value)) return [];
  return value === null || value === undefined ? null : {};
}

function maskTexts(value: JsonValue | undefined, mask: string): JsonValue {
  if (typeof value === "string") return mask.repeat(value.length);
  if (Array.isArray(value)) return value.map((item) => maskTexts(item, mask));
  if (!isJsonObject(value)) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskTexts(item, mask)]));
}
