// All messages over a transport during a run, for the requirements that check all of them.
import type { Message } from "../protocol/envelope.ts";

interface ReceivedLine {
  /** Which session it belongs to: a number of this run, not the session's id. */
  readonly session: number;
  readonly line: string;
  /** Undefined if the line is not a JSON object. */
  readonly message: Message | undefined;
}

export interface Traffic {
  readonly sentTypes: Set<string>;
  readonly received: ReceivedLine[];
  /** The bytes of each stream of server-sent events, as they came. */
  readonly streams: Uint8Array[][];
  /** The amount of stderr and the exit code of each child process. */
  readonly children: { stderrBytes: number; exitCode: number | null | undefined }[];
}

export function createTraffic(): Traffic {
  return { sentTypes: new Set(), received: [], streams: [], children: [] };
}

const typeField = /"type"\s*:\s*"((?:[^"\\]|\\.){1,128})"/;

/** Records the type of a line that a requirement sends, also if the line is deliberately invalid. */
export function noteSent(traffic: Traffic, line: string): void {
  const type = typeField.exec(line.length > 65_536 ? line.slice(0, 65_536) : line)?.[1];
  if (type !== undefined) traffic.sentTypes.add(type);
}

/** Records a line of the host and returns its message, undefined if it is not a message. */
export function noteReceived(traffic: Traffic, session: number, line: string): Message | undefined {
  const message = parseMessage(line);
  traffic.received.push({ session, line, message });
  return message;
}

function parseMessage(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const isMessage = typeof value === "object" && value !== null && typeof (value as Message).type === "string";
    return isMessage ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}
