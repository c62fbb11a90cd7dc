import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import type { CallEvent } from "../../../client/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";

/** The lifetime of one request of the MCP client. */
export interface CallScope {
  readonly signal: AbortSignal;
  onEvent?(event: CallEvent): void;
  /** The trace that the request belongs to, from its `_meta`. */
  readonly traceparent?: string;
}

export interface ToolAnswer {
  readonly result: CallToolResult;
  /**
   * As it was listed: earlier revisions of MCP require a result that is not an object to be wrapped, as its schema
   * declares.
   */
  readonly outputSchema?: Tool["outputSchema"] | undefined;
}

/** A source of tools in a session. */
export interface ToolSource {
  list(): Promise<readonly Tool[]>;
  /** Undefined if the source has no such tool. Rejects with the errors of the session's client. */
  call(name: string, args: JsonObject, scope: CallScope): Promise<ToolAnswer> | undefined;
}
