import type { ReadResourceResult, Resource, ResourceTemplateType } from "@modelcontextprotocol/server";

/** A source of resources in a session. Undefined means that the source has no such resource. */
export interface ResourceSource {
  list(): Promise<readonly Resource[]>;
  templates(): Promise<readonly ResourceTemplateType[]>;
  read(uri: string, signal: AbortSignal): Promise<ReadResourceResult | undefined>;
  /** Values of a template's variable that begin with `value`. */
  complete(template: string, value: string): Promise<readonly string[] | undefined>;
  /** Subscribes to changes of a resource, or unsubscribes. */
  watch(uri: string, isWatched: boolean): Promise<true | undefined>;
}
