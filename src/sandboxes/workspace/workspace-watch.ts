// Limits how much programs may add to a workspace. Few machines have file systems that can enforce this, so workspaces
// are counted while programs run. docs/guide/sandbox.md describes the guarantees, docs/decisions/sandboxes.md the
// reasons.
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { siblingModule } from "../../machinery/threads/thread-entry.ts";
import { WorkerPool } from "../../machinery/threads/worker-pool.ts";
import type { Confinement, SandboxLimits, SandboxPolicy } from "../../plugin/ports/sandbox.ts";
import { A2EError } from "../../protocol/errors.ts";
import { type ProgramControl, WatchedWorkspace } from "./watched-workspace.ts";
import { type Count, type CountJob, uncounted } from "./workspace-size.ts";

export interface Watching {
  /** The workspace is over its limit already: a program may only clean up. */
  readonly isFull: boolean;
  /** Whether this program was ended because the workspace was full. */
  wasFilled(): boolean;
  close(): void;
}

export interface WatchOptions {
  limits: Pick<SandboxLimits, "workspaceBytes" | "fileBytes">;
  /** Called once, when the workspace has grown by more than `workspaceBytes` since its first program was watched. */
  onFull(): void;
  control?(): ProgramControl | undefined;
}

/**
 * The share of the limit that a program may add to a full workspace: for names of folders, since it cannot write files.
 */
const fullShare = 1 / 16;

/** Workspaces that are counted at once. */
const maxCounts = 2;

export class WorkspaceWatch {
  readonly #except: readonly string[];
  readonly #workspaces = new Map<string, Promise<WatchedWorkspace>>();
  readonly #threads = new WorkerPool({ size: maxCounts });

  /** `except` are folders of the host: they do not count, even in a workspace. */
  constructor({ except = [] }: { except?: readonly string[] } = {}) {
    this.#except = except;
  }

  async open(path: string, { limits, onFull, control }: WatchOptions): Promise<Watching> {
    const { workspaceBytes, fileBytes } = limits;
    const workspace = await this.#workspaceOf(path);
    await workspace.refresh(workspaceBytes);
    if (workspace.addedBytes === Number.POSITIVE_INFINITY) throw uncountable(path);
    const isFull = workspace.addedBytes > workspaceBytes;
    let wasFilled = false;
    const program = {
      maxBytes: isFull ? workspace.addedBytes + workspaceBytes * fullShare : workspaceBytes,
      maxFileBytes: fileBytes,
      onFull() {
        wasFilled = true;
        onFull();
      },
      ...(control === undefined ? {} : { control }),
    };
    workspace.add(program);
    return { isFull, wasFilled: () => wasFilled, close: () => workspace.remove(program) };
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  #workspaceOf(path: string): Promise<WatchedWorkspace> {
    const known = this.#workspaces.get(path);
    if (known !== undefined) return known;
    const made = this.#create(path);
    this.#workspaces.set(path, made);
    made.catch(() => this.#workspaces.delete(path));
    return made;
  }

  async #create(path: string): Promise<WatchedWorkspace> {
    const job = { folder: await realpath(path), shownAs: resolve(path), except: this.#except };
    const first = await this.#count({ ...job, enough: Number.POSITIVE_INFINITY, maxFileBytes: 0 });
    if (first.bytes === Number.POSITIVE_INFINITY) throw uncountable(path);
    return new WatchedWorkspace({ first, count: (request) => this.#count({ ...job, ...request }) });
  }

  async #count(args: CountJob): Promise<Count> {
    const job = { module: siblingModule("workspace-size", import.meta.url), exportName: "countWorkspace", args };
    try {
      return (await this.#threads.run(job, { owner: args.folder })) as Count;
    } catch (error) {
      // There are millions of folders: the workspace counts as full.
      if (error instanceof A2EError && error.code === "out_of_memory") return uncounted(args.previous);
      throw error;
    }
  }
}

function uncountable(path: string): Error {
  return new Error(
    `no program may write to ${path}: it has too many folders to be counted, or they are nested too deeply; remove some first`,
  );
}

export type ControlledConfinement = Confinement & { readonly control?: ProgramControl };

type Made = (limits: SandboxLimits) => Promise<ControlledConfinement>;

/** Creates a confinement whose program is ended when programs have filled its workspace. */
export async function confineWatched(
  watch: WorkspaceWatch,
  policy: SandboxPolicy,
  limits: SandboxLimits,
  make: Made,
): Promise<Confinement> {
  const { workspace } = policy;
  if (workspace?.access !== "write") return make(limits);
  let confinement: ControlledConfinement | undefined;
  const { isFull, wasFilled, close } = await watch.open(workspace.path, {
    limits,
    onFull: () => void confinement?.release().catch(() => {}),
    control: () => confinement?.control,
  });
  try {
    confinement = await make(isFull ? { ...limits, fileBytes: 0 } : limits);
  } catch (error) {
    close();
    throw error;
  }
  // Other programs have filled the workspace meanwhile: this program starts as in a full workspace.
  if (wasFilled()) {
    await confinement.release();
    return confineWatched(watch, policy, limits, make);
  }
  const { verdict, release } = confinement;
  return {
    ...confinement,
    verdict: async (exit) => (wasFilled() ? "sandbox_crash" : verdict(exit)),
    isWorkspaceFull: () => isFull || wasFilled(),
    release() {
      close();
      return release();
    },
  };
}
