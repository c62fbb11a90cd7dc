// Server-sent events, formatted and parsed: a message per event, with its sequence number as the event's id.
import { escapeNonAscii } from "../protocol/json.ts";

export interface SseEvent {
  /** The id of this event itself; unlike in a browser, never inherited from an earlier event. */
  readonly id: string | undefined;
  readonly data: string;
}

export interface SseParser {
  /** Takes the next piece of the stream, cut anywhere: bytes may end inside a character, text inside a CRLF. */
  push(chunk: string | Uint8Array): void;
}

interface SseParserOptions {
  /** Longest data of an event, in characters. */
  maxDataLength: number;
  onEvent(event: SseEvent): void;
  /** Called once per event that grew past the limit; that event is skipped. */
  onTooLong(): void;
  /** The server names how long to wait before a reconnection. */
  onRetry?(delayMs: number): void;
}

/** An event for a line of JSON, in ASCII: some readers decode SSE as Latin-1 or split lines at U+2028. */
export function formatSseEvent(seq: number, line: string): string {
  return `id: ${seq}\ndata: ${escapeNonAscii(line)}\n\n`;
}

export const keepAliveComment = ": keep-alive\n\n";

/**
 * Names the run of the host behind a stream. When it changes, requests that were taken but not answered must come again. A
 * client names it beside the last line it has: another run may have given its number to another line.
 */
export const bootHeader = "a2e-boot";

/**
 * The longest silence of a stream in milliseconds: after several times as long, its reader takes the stream for dead.
 */
export const keepAliveHeader = "a2e-keep-alive";

const anyLineEnd = /\r\n?|\n/g;

export function createSseParser({ maxDataLength, onEvent, onTooLong, onRetry }: SseParserOptions): SseParser {
  let decoder: TextDecoder | undefined;
  let isStart = true;
  /** The last piece ended in CR: an LF that follows belongs to the same line end. */
  let endedInReturn = false;
  /** Pieces of the line so far, joined only when it is whole: a long line in many pieces stays linear. */
  let pieces: string[] = [];
  let pendingLength = 0;
  let data: string | undefined;
  let id: string | undefined;
  let isTooLong = false;

  return {
    push(chunk) {
      let text = typeof chunk === "string" ? chunk : decode(chunk);
      if (text === "") return;
      if (isStart) {
        isStart = false;
        if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
      }
      if (endedInReturn) {
        endedInReturn = false;
        if (text.startsWith("\n")) text = text.slice(1);
      }
      const start = text.includes("\r") ? takeAnyLines(text) : takeLines(text);
      if (start < text.length) keep(start === 0 ? text : text.slice(start));
    },
  };

  function decode(bytes: Uint8Array): string {
    decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
    return decoder.decode(bytes, { stream: true });
  }

  /**
   * Returns the position of the unfinished line. Nearly every stream uses LF only, which needs no regular expression.
   */
  function takeLines(text: string): number {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      takeLine(text.slice(start, end));
      start = end + 1;
    }
    return start;
  }

  function takeAnyLines(text: string): number {
    let start = 0;
    for (const { 0: lineEnd, index } of text.matchAll(anyLineEnd)) {
      takeLine(text.slice(start, index));
      start = index + lineEnd.length;
    }
    endedInReturn = text.endsWith("\r");
    return start;
  }

  function keep(piece: string): void {
    if (isTooLong) {
      // Only whether the line is empty matters now: it ends the event that is being skipped.
      if (pieces.length === 0) pieces.push(":");
      return;
    }
    pieces.push(piece);
    pendingLength += piece.length;
    if (pendingLength > maxDataLength + "data: ".length) refuse();
  }

  function refuse(): void {
    isTooLong = true;
    data = undefined;
    pieces = pieces.length === 0 ? [] : [":"];
    onTooLong();
  }

  function takeLine(end: string): void {
    let line = end;
    if (pieces.length > 0) {
      pieces.push(end);
      line = pieces.join("");
      pieces = [];
      pendingLength = 0;
    }
    if (line === "") dispatch();
    else if (!isTooLong) takeField(line);
  }

  function takeField(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1);
    if (name === "data") {
      data = data === undefined ? value : `${data}\n${value}`;
      if (data.length > maxDataLength) refuse();
    } else if (name === "id") {
      if (!value.includes("\0")) id = value;
    } else if (name === "retry" && /^\d{1,15}$/.test(value)) onRetry?.(Number(value));
  }

  function dispatch(): void {
    const event = data === undefined ? undefined : { id, data };
    data = undefined;
    id = undefined;
    isTooLong = false;
    if (event !== undefined) onEvent(event);
  }
}
