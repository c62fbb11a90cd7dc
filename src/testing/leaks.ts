// Every resource that is started must be stopped; this finds those that were not.

export interface ResourceWatch {
  /** Rejects if timers, sockets, servers or processes of this Node process are left after the watched time. */
  expectNothingLeft(options?: { withinMs?: number }): Promise<void>;
}

/** The operating system closes a handle a little after the promise of it resolves; on a busy machine, seconds after. */
const defaultWithinMs = 30_000;
const pollMs = 10;

/** Records the open resources; those opened later must be closed again. */
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
    // Work in the thread pool ends by itself; only resources that keep the process alive count.
    if (name.startsWith("FSReq") || name === "Immediate") continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
