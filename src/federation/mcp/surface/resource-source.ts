import type { ReadResourceResult, Resource, ResourceTemplateType } from "@modelcontextprotocol/server";

/** Something of a session that MCP clients see as resources. Undefined answers mean: no such resource here. */
export interface ResourceSource {
  list(): Promise<readonly Resource[]>;
  templates(): Promise<readonly ResourceTemplateType[]>;
  read(uri: string, signal: AbortSignal): Promise<ReadResourceResult | undefined>;
  /** Values of a variable of a template that begin like this. */
  complete(template: string, value: string): Promise<readonly string[] | undefined>;
  /** Begins or ends to have changes of a resource told. */
  watch(uri: string, isWatched: boolean): Promise<true | undefined>;
}
