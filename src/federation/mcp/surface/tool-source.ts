import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import type { CallEvent } from "../../../client/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";

/** What lasts as long as one request of the MCP client. */
export interface CallScope {
  readonly signal: AbortSignal;
  onEvent?(event: CallEvent): void;
}

export interface ToolAnswer {
  readonly result: CallToolResult;
  /** As it was listed: earlier revisions of MCP want a result that is no object wrapped, and its schema says so. */
  readonly outputSchema?: Tool["outputSchema"] | undefined;
}

/** Something of a session that MCP clients see as tools. */
export interface ToolSource {
  list(): Promise<readonly Tool[]>;
  /** Undefined where it has no such tool. Rejects with what the client of the session rejects with. */
  call(name: string, args: JsonObject, scope: CallScope): Promise<ToolAnswer> | undefined;
}
