// Work that a plugin repeats as long as it runs, such as removing expired rows.
import { type Awaitable, isThenable } from "../protocol/awaitable.ts";
import { Turns } from "./turns.ts";

export interface RegularWorkOptions {
  readonly work: () => Awaitable<void>;
  readonly everyMs: number;
  /** Called if a run throws or rejects. The next run comes all the same. */
  readonly onError: (error: unknown) => void;
}

export interface RegularWork {
  /** After this, no run begins. Resolves when the run that is under way has ended. */
  close(): Promise<void>;
}

/** Runs `work` now and then regularly, never two runs at a time. Does not keep the process from ending. */
export function startRegularWork({ work, everyMs, onError }: RegularWorkOptions): RegularWork {
  const turns = new Turns();
  let isClosed = false;
  const run = () => {
    if (isClosed) return;
    try {
      const result = work();
      return isThenable(result) ? Promise.resolve(result).catch(onError) : undefined;
    } catch (error) {
      return onError(error);
    }
  };
  void turns.run(run);
  const timer = setInterval(() => void turns.run(run), everyMs);
  timer.unref();
  return {
    async close() {
      isClosed = true;
      clearInterval(timer);
      await turns.ended;
    },
  };
}
