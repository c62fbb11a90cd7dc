import type { IdSource } from "../protocol/envelope.ts";

/** Ids that count: `id-1`, `id-2`, and so on. Each side of a test wants a prefix of its own. */
export function createFakeIds(prefix = "id"): IdSource {
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${count}`;
  };
}
