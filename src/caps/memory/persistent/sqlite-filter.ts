// The conditions of a search as SQL on the entry `e` of one space.
import type { Conditions } from "../entry.ts";
import type { SqlFilter } from "./text-index.ts";

/** `above` are the overlays whose entries hide entries of this space. */
export function toSqlFilter(
  conditions: Conditions,
  space: number,
  above: readonly number[],
  expiredAt: number | undefined,
): SqlFilter {
  const parts: string[] = [];
  const values: (string | number)[] = [];
  const add = (sql: string, ...more: (string | number)[]) => {
    parts.push(`AND ${sql}`);
    values.push(...more);
  };
  const { keys, tags, tagsMatch, since, until } = conditions;
  if (keys.size > 0)
    add(
      "e.id IN (SELECT id FROM memory_entry WHERE space = ? AND key IN (SELECT value FROM json_each(?)))",
      space,
      JSON.stringify([...keys]),
    );
  if (since !== undefined) add("e.event_at >= ?", since);
  if (until !== undefined) add("e.event_at < ?", until);
  if (tags.size > 0) {
    const distinct = [...tags].map((tag) => JSON.stringify(tag));
    const needed = tagsMatch === "all" ? distinct.length : 1;
    add(
      "e.id IN (SELECT entry FROM memory_tag WHERE space = ? AND tag IN (SELECT value FROM json_each(?)) GROUP BY entry HAVING count(*) >= ?)",
      space,
      JSON.stringify(distinct),
      needed,
    );
  }
  if (above.length > 0)
    add(
      "NOT EXISTS (SELECT 1 FROM memory_entry h WHERE h.space IN (SELECT value FROM json_each(?)) AND h.key = e.key)",
      JSON.stringify(above),
    );
  if (expiredAt !== undefined) add("(e.expires_at IS NULL OR e.expires_at > ?)", expiredAt);
  return { sql: parts.join(" "), values };
}
