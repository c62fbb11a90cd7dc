import type { GetPromptResult, Prompt } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../protocol/json.ts";

/** Something of a session that MCP clients see as prompts. Undefined answers mean: no such prompt here. */
export interface PromptSource {
  list(): Promise<readonly Prompt[]>;
  get(name: string, args: JsonObject, signal: AbortSignal): Promise<GetPromptResult | undefined>;
  /** Values that an argument may take and that begin like this. */
  complete(name: string, argument: string, value: string): Promise<readonly string[] | undefined>;
}
