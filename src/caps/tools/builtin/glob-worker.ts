// The part of glob that runs in a worker.

import { Workspace } from "../../../machinery/confinement/workspace.ts";
import type { WorkerContext } from "../../../machinery/threads/worker-entry.ts";
import { createFileWildcard, walkFolder } from "../folder-walk.ts";
import { toolLimits } from "../limits.ts";

export interface GlobArguments {
  root: string;
  start: string[];
  pattern: string;
  max_results: number;
  include_ignored: boolean;
}

export interface GlobResult {
  paths: string[];
  truncated: boolean;
}

export async function findFiles(args: GlobArguments, { signal }: WorkerContext): Promise<GlobResult> {
  const matches = createFileWildcard(args.pattern);
  const paths: string[] = [];
  let room: number = toolLimits.maxSearchBytes;
  const options = { maxDepth: toolLimits.maxFolderDepth, includeIgnored: args.include_ignored, signal };
  const walk = walkFolder(new Workspace(args.root), args.start, options);
  for (let step = await walk.next(); ; step = await walk.next()) {
    if (step.done) return { paths, truncated: step.value };
    const { segments, type } = step.value;
    if (type !== "file" || !matches(segments.slice(args.start.length).join("/"))) continue;
    const path = segments.join("/");
    room -= Buffer.byteLength(path);
    if (paths.length >= args.max_results || room < 0) return { paths, truncated: true };
    paths.push(path);
  }
}
