// Whatever starts can be stopped; this finds what was not.

export interface ResourceWatch {
  /** Rejects where timers, sockets, servers or processes of this Node process outlive the watched time. */
  expectNothingLeft(options?: { withinMs?: number }): Promise<void>;
}

/** The operating system closes a handle a little after the promise of it resolves; on a busy machine, seconds after. */
const defaultWithinMs = 30_000;
const pollMs = 10;

/** Remembers what is open now; later openings must be closed again. */
export function watchResources(): ResourceWatch {
  const before = countResources();
  return {
    async expectNothingLeft({ withinMs = defaultWithinMs } = {}) {
      const deadline = performance.now() + withinMs;
      let left = findLeft(before);
      while (left.length > 0 && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, pollMs));
        left = findLeft(before);
      }
      if (left.length > 0) throw new Error(`left open: ${left.join(", ")}`);
    },
  };
}

function findLeft(before: ReadonlyMap<string, number>): string[] {
  return [...countResources()].flatMap(([name, count]) => {
    const more = count - (before.get(name) ?? 0);
    return more > 0 ? [`${more} × ${name}`] : [];
  });
}

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) {
    // Work in the thread pool ends by itself; what stays is what holds the process.
    if (name.startsWith("FSReq") || name === "Immediate") continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
