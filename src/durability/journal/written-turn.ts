// The format in which the SQL journal writes a turn. State is stored in layers; forks share the lower layers.
import type { SessionRecord } from "../../host/session/session-record.ts";
import type { SessionTurn } from "./journal-store.ts";

/** Stands for the absent layer below a lowest layer. Layers are numbered from 1. */
export const noLayer = 0;

/** The layers that contain the state of a session. */
export interface Placement {
  /** Numbers of layers, oldest first; only the session itself writes to the last layer. */
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
  /** The session is removed, together with these layers. */
  readonly dropped?: readonly number[];
}

/** A line of JSON about the turn, followed by its outgoing lines, which do not contain line breaks. */
export function encodeTurn({ lines, ...about }: WrittenTurn): string {
  const head = JSON.stringify(about);
  return lines.length === 0 ? head : `${head}\n${lines.join("\n")}`;
}

export function decodeTurn(text: string): WrittenTurn {
  const [head, ...lines] = text.split("\n");
  return { ...(JSON.parse(head as string) as Omit<WrittenTurn, "lines">), lines };
}
