// A turn as a SQL journal writes it: the state lies in layers, of which forks share the lower ones.
import type { SessionRecord } from "../../host/session/session-record.ts";
import type { SessionTurn } from "./journal-store.ts";

/** What lies below the lowest layers. Layers are numbered from 1. */
export const noLayer = 0;

/** Where the state of a session lies. */
export interface Placement {
  /** Numbers of layers, oldest first; the last one is the session's own. */
  readonly layers: readonly number[];
  /** How many of the layers a fork began with. */
  readonly ground?: number;
}

export type WrittenRecord = SessionRecord & Placement;

/**
 * A value as JSON; null if the key is deleted and a layer below may have it; without a value if it is deleted and there is
 * no layer below.
 */
export type WrittenChange = readonly [plugin: string, key: string, json?: string | null];

export interface WrittenTurn extends Pick<SessionTurn, "session" | "lines" | "lastSeq" | "acknowledged" | "outdated"> {
  /** The layer that the changes are in. */
  readonly layer: number;
  readonly changes: readonly WrittenChange[];
  readonly record?: WrittenRecord;
  /** The session is gone, and these layers with it. */
  readonly dropped?: readonly number[];
}

/** A line of JSON about the turn, then its lines, which contain no line breaks. */
export function encodeTurn({ lines, ...about }: WrittenTurn): string {
  const head = JSON.stringify(about);
  return lines.length === 0 ? head : `${head}\n${lines.join("\n")}`;
}

export function decodeTurn(text: string): WrittenTurn {
  const [head, ...lines] = text.split("\n");
  return { ...(JSON.parse(head as string) as Omit<WrittenTurn, "lines">), lines };
}
