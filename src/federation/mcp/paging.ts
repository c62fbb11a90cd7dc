// Cursors that stay valid while a list changes: each names the last entry that was listed, not its index.
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

export interface Page<Item> {
  items: Item[];
  nextCursor?: string;
}

/** Throws an error for the peer if the entry of the cursor is gone. */
export function pageAfter<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  cursor: string | undefined,
  pageSize: number,
): Page<Item> {
  const start = cursor === undefined ? 0 : indexAfter(items, keyOf, cursor);
  const page = items.slice(start, start + pageSize);
  const last = page.at(-1);
  if (last === undefined || start + pageSize >= items.length) return { items: page };
  return { items: page, nextCursor: Buffer.from(keyOf(last)).toString("base64url") };
}

function indexAfter<Item>(items: readonly Item[], keyOf: (item: Item) => string, cursor: string): number {
  const key = Buffer.from(cursor, "base64url").toString();
  const index = items.findIndex((item) => keyOf(item) === key);
  if (index !== -1) return index + 1;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "this cursor is no longer valid: list from the start");
}
