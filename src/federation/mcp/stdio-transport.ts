// JSON-RPC messages as lines of two streams. The SDK's own transport ends at the first line that is too long, does not
// answer unreadable lines, and drops requests right before the end of input.
import type { Readable, Writable } from "node:stream";
import {
  INVALID_REQUEST,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  PARSE_ERROR,
  parseJSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { createTextLineSplitter } from "../../framing/text-lines.ts";
import { isDeeperThan, isJsonObject, type JsonValue, parseJson } from "../../protocol/json.ts";
import type { Limits } from "../../protocol/limits.ts";
import { mcpLimits } from "./limits.ts";
import { cancelledBy, isListenRequest } from "./messages.ts";

interface StdioTransportOptions {
  input: Readable;
  output: Writable;
  limits: Pick<Limits, "maxLineBytes" | "maxDepth">;
  /** The client has left, or the transport was closed; all earlier messages have been flushed. */
  onEnded(): void;
}

export function createStdioTransport({ input, output, limits, onEnded }: StdioTransportOptions): Transport {
  /** Requests of the client without an answer. */
  const unanswered = new Set<unknown>();
  let lastAnswers: NodeJS.Timeout | undefined;
  let isClosed = false;

  const write = (message: object) => {
    if (!isClosed) output.write(`${JSON.stringify(message)}\n`);
  };
  const refuse = (value: JsonValue, code: number, message: string) => {
    // An invalid answer is not answered, or two peers could exchange errors forever.
    if (isJsonObject(value) && ("result" in value || "error" in value)) return;
    write({ jsonrpc: "2.0", id: idOf(value), error: { code, message } });
  };
  const receive = (value: JsonValue) => {
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      return refuse(value, INVALID_REQUEST, "this is not a JSON-RPC message");
    }
    // A request to listen is answered when it ends, at the latest with the input.
    if (isJSONRPCRequest(message) && !isListenRequest(message)) unanswered.add(message.id);
    // Cancelled requests are not answered.
    unanswered.delete(cancelledBy(message));
    transport.onmessage?.(message);
  };
  const splitter = createTextLineSplitter({
    maxLineLength: limits.maxLineBytes,
    onLine(line) {
      let value: JsonValue;
      try {
        value = parseJson(line);
      } catch {
        return refuse(null, PARSE_ERROR, "this line is not valid JSON");
      }
      if (isDeeperThan(value, limits.maxDepth))
        return refuse(value, INVALID_REQUEST, `this line is nested deeper than ${limits.maxDepth}`);
      // Revision 2025-03-26 allows batches of messages.
      for (const one of Array.isArray(value) ? value : [value]) receive(one);
    },
    onTooLong: () => refuse(null, INVALID_REQUEST, `a line was longer than ${limits.maxLineBytes} bytes, and skipped`),
  });

  const receiveText = (text: string) => splitter.push(text);
  const endOfInput = () => {
    if (lastAnswers !== undefined) return;
    splitter.end();
    lastAnswers = setTimeout(close, mcpLimits.lastAnswersMs);
    closeWhenAnswered();
  };
  const closeWhenAnswered = () => {
    if (lastAnswers !== undefined && unanswered.size === 0) close();
  };
  function close(): void {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(lastAnswers);
    input.off("data", receiveText).off("end", endOfInput).off("close", endOfInput).pause();
    transport.onclose?.();
    // The callback of an empty write runs when all earlier writes have finished or failed.
    if (output.writable) output.write("", onEnded);
    else onEnded();
  }

  const transport: Transport = {
    async start() {
      input.setEncoding("utf8").on("data", receiveText).on("end", endOfInput).on("close", endOfInput);
      // The error listeners are never removed: standard output fails again with each write, and the error would be
      // uncaught.
      input.on("error", close);
      output.on("error", close);
      if (input.readableEnded || input.destroyed) setImmediate(endOfInput);
    },
    async send(message) {
      write(message);
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) unanswered.delete(message.id);
      closeWhenAnswered();
    },
    async close() {
      close();
    },
  };
  return transport;
}

function idOf(value: JsonValue): string | number | null {
  const id = isJsonObject(value) ? value.id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
