// Counts the disk space of a workspace: its files, and removed files that its programs still hold. Runs in a worker
// thread, because it walks through the whole workspace.
import { type FileSizes, findHeldFiles } from "./held-files.ts";
import { Uncountable, WorkspaceWalk } from "./workspace-walk.ts";

export interface CountJob {
  /** The workspace, without links. */
  folder: string;
  /** The same folder, as programs see it. */
  shownAs: string;
  /** Folders in it that belong to the host: they are not counted. */
  except: readonly string[];
  /** Counting stops as soon as the sum is above this. */
  enough: number;
  /** The largest file that a program may write. */
  maxFileBytes: number;
  /** The previous count of this workspace; undefined for the first count. */
  previous?: Count | undefined;
}

export interface Count {
  bytes: number;
  /** Devices of the file systems that were mounted in the workspace at the first count. They are never counted. */
  mounted: number[];
  /**
   * The size that every counted file could grow to without changing its length. Empty if the host is root, which does
   * not need it.
   */
  sizes: FileSizes;
  /** Open files that wait in sockets of programs to be received. */
  queued: number;
}

/** Attempts, since a program may disturb a count by changing permissions of folders. */
const maxAttempts = 3;

/** Infinite bytes if a program has made the workspace impossible to count. */
export function countWorkspace(job: CountJob): Count {
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    try {
      return count(job);
    } catch (error) {
      if (!(error instanceof Uncountable)) throw error;
    }
  }
  return uncounted(job.previous);
}

export function uncounted(previous: Count | undefined): Count {
  return { ...(previous ?? nothing), bytes: Number.POSITIVE_INFINITY };
}

function count(job: CountJob): Count {
  const { enough, maxFileBytes, previous } = job;
  const walk = new WorkspaceWalk({ ...job, mounted: previous?.mounted });
  walk.run();
  if (walk.bytes > enough) return { ...(previous ?? nothing), bytes: walk.bytes };
  const held = findHeldFiles({ ...job, sizes: previous?.sizes });
  for (const [inode, bytes] of held.files) walk.add(inode, bytes, bytes);
  // A file that is in a socket at two consecutive counts is treated as stored there.
  const queued = Math.min(held.queued, previous?.queued ?? 0) * maxFileBytes;
  return { bytes: walk.bytes + queued, mounted: walk.mounted, sizes: walk.sizes(), queued: held.queued };
}

const nothing: Count = {
  bytes: 0,
  mounted: [],
  sizes: { inodes: new Float64Array(), bytes: new Float64Array() },
  queued: 0,
};
