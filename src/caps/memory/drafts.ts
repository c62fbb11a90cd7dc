// Turns the entries of a request into drafts, and rejects invalid entries one by one.

import type { Draft, Refusal } from "./entry.ts";
import { canonicalKey, isEmptyKey } from "./key.ts";
import { memoryLimits } from "./limits.ts";
import type { NewMemoryEntry } from "./protocol.ts";
import { toSearchText } from "./text.ts";

/** Far beyond any date; larger numbers would lose precision. */
const maxSeconds = 1e11;

export function toDraft(entry: NewMemoryEntry, maxEntryBytes: number, now: number): Draft | Refusal {
  const { content, tags, source, score, if_version: ifVersion } = entry;
  const { maxSourceLength } = memoryLimits;
  const key = canonicalKey(entry.key);
  const json = JSON.stringify(content);
  const contentBytes = bytesOf(json);
  const lifetime = entry.ttl ?? 0;
  const ttl = Math.ceil(lifetime);
  const eventAt =
    entry.event_at ?? secondsIn(entry, "event_at") ?? entry.created_at ?? secondsIn(entry, "created_at") ?? now;
  const problem =
    problemWithKey(entry, key) ??
    (contentBytes > maxEntryBytes
      ? `content has ${contentBytes} bytes; at most ${maxEntryBytes} are allowed`
      : undefined) ??
    problemWithTags(tags) ??
    (source.length > maxSourceLength ? `source is longer than ${maxSourceLength} characters` : undefined) ??
    (lifetime < 0 || ttl > maxSeconds ? "ttl must be from 0 to 100 billion seconds" : undefined) ??
    (Math.abs(eventAt) > maxSeconds ? "event_at is not a valid date" : undefined) ??
    (ifVersion !== undefined && ifVersion < 0 ? "if_version must not be negative" : undefined);
  if (problem !== undefined) return { code: "schema_violation", message: problem };
  const size = tags.reduce((sum, tag) => sum + bytesOf(tag), contentBytes + bytesOf(key) + bytesOf(source));
  const text = toSearchText(entry.key, content);
  return { key, content, json, size, text, tags, source, score, ttl, eventAt, ifVersion };
}

function bytesOf(text: string): number {
  return text === "" ? 0 : Buffer.byteLength(text);
}

function problemWithKey({ key }: NewMemoryEntry, canonical: string): string | undefined {
  const { maxKeyLength } = memoryLimits;
  if (isEmptyKey(key)) return "key must not be empty";
  return canonical.length > maxKeyLength ? `key is longer than ${maxKeyLength} characters` : undefined;
}

function problemWithTags(tags: readonly string[]): string | undefined {
  const { maxTagLength, maxTags } = memoryLimits;
  if (tags.length > maxTags) return `an entry may have at most ${maxTags} tags`;
  return tags.some((tag) => tag.length > maxTagLength) ? `a tag is longer than ${maxTagLength} characters` : undefined;
}

function secondsIn({ timestamps }: NewMemoryEntry, name: string): number | undefined {
  const value = timestamps?.[name];
  return typeof value === "number" ? value : undefined;
}
