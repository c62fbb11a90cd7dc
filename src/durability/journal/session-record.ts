// What the journal keeps of a session, and how a turn of it is written as text.
import type { JsonValue } from "../../protocol/json.ts";

/** What a session is, beside its lines and its state. */
export interface SessionRecord {
  principal: { id: string; isAuthenticated: boolean };
  granted: string[];
  dialect: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  lastActiveAt: number;
  /** Where its state lies, oldest layer first; the last one is its own. */
  layers: number[];
  parent?: string;
  /** How many of the layers a fork began with. */
  ground?: number;
}

export interface StoredSession {
  record: SessionRecord;
  acknowledged: number;
  /** Consecutive; the last one has number `lastSeq`. */
  lines: string[];
  lastSeq: number;
  /** Layers of state by plugin, as many for each as the record names. */
  state: Map<string, Map<string, JsonValue | undefined>[]>;
}

/** A value as JSON; null where the key is gone though a layer below may have it; without a value where there is none below. */
export type WrittenChange = readonly [plugin: string, key: string, json?: string | null];

/** What one session said and changed in one turn. */
export interface SessionTurn {
  readonly session: string;
  readonly lines: readonly string[];
  /** The number of its last line. */
  readonly lastSeq: number;
  readonly acknowledged: number;
  /** Lines up to this one have had too much said after them, where that is less than usual. */
  readonly outdated?: number;
  /** The layer that the changes are in. */
  readonly layer: number;
  readonly changes: readonly WrittenChange[];
  /** Where it has changed. */
  readonly record?: SessionRecord;
  /** The session is gone, and these layers with it. */
  readonly dropped?: readonly number[];
}

/** A line of JSON about the turn, then its lines, none of which has a line break in it. */
export function encodeTurn({ lines, ...about }: SessionTurn): string {
  const head = JSON.stringify(about);
  return lines.length === 0 ? head : `${head}\n${lines.join("\n")}`;
}

export function decodeTurn(text: string): SessionTurn {
  const [head, ...lines] = text.split("\n");
  return { ...(JSON.parse(head as string) as Omit<SessionTurn, "lines">), lines };
}
