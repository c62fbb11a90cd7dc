import type { Plugin } from "./plugin.ts";

/** A plugin with its name and rank in the host. */
export interface LoadedPlugin {
  readonly name: string;
  readonly plugin: Plugin;
  readonly priority: number;
  readonly exclusive: boolean;
}
