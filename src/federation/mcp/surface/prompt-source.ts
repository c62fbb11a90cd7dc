import type { GetPromptResult, Prompt } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../protocol/json.ts";

/** A source of prompts in a session. Undefined means that the source has no such prompt. */
export interface PromptSource {
  list(): Promise<readonly Prompt[]>;
  get(name: string, args: JsonObject, signal: AbortSignal): Promise<GetPromptResult | undefined>;
  /** Values that an argument may take and that begin with `value`. */
  complete(name: string, argument: string, value: string): Promise<readonly string[] | undefined>;
}
