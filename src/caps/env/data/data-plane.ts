// `env/data`: files that a task starts from and leaves behind. Each session has its own folders. Answers have names,
// sizes and checksums, and content only on request. Independent of episodes.
import { join } from "node:path";
import { Turns } from "../../../machinery/turns.ts";
import type { SessionContext } from "../../../plugin/plugin.ts";
import { localPrefix, type SessionState } from "../../../plugin/session-state.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { RequestOf, ResultInputOf } from "../../../protocol/table/capability.ts";
import type { Caller } from "../episodes/caller-turns.ts";
import { envLimits } from "../limits.ts";
import type { env } from "../protocol.ts";
import {
  checksumOf,
  listFiles,
  openSource,
  readContent,
  type StagedFile,
  stageFile,
  toSegments,
} from "./data-folder.ts";
import { filterByQuery } from "./data-query.ts";
import { type DataRoot, DataRoots, type DataRootsOptions, type Room, toRootName } from "./data-roots.ts";
import { SessionFolder } from "./session-folder.ts";
import type { StagedFolders } from "./staged-folders.ts";

type Calls = (typeof env)["calls"];
type Item = NonNullable<ResultInputOf<Calls["addData"]>["staged"]>[number];
type Part = RequestOf<Calls["addData"]>["parts"][number];
type Answer<Name extends "resetData" | "addData" | "getData"> = Promise<ResultInputOf<Calls[Name]>>;

export interface DataPlaneOptions extends DataRootsOptions {
  /** The folders of all sessions. */
  readonly folders: StagedFolders;
  /** Folders that `src` may point into. */
  readonly sources: readonly string[];
}

const defaultRoot = "/workspace/data";
/** The `uri` and `mime` that agents gave for a file, by its path: `<root>/<dest>`. */
const aboutPrefix = `${localPrefix}about/`;
const aboutKey = (root: string, dest: string) => `${aboutPrefix}${root}/${dest}`;

export class DataPlane {
  readonly #options: DataPlaneOptions;
  readonly #state: SessionState;
  readonly #place: SessionFolder;
  readonly #roots: DataRoots;
  /** Runs one change of files at a time. */
  readonly #turns = new Turns();
  #underWay: AbortController | undefined;
  #isClosed = false;

  constructor(options: DataPlaneOptions, context: Pick<SessionContext, "state" | "clock">) {
    this.#options = options;
    this.#state = context.state;
    this.#place = new SessionFolder(options.folders, context);
    this.#roots = new DataRoots(options, this.#place);
  }

  /** The folder that environments read and write. */
  get defaultFolder(): string {
    return join(this.#place.ownNow(), toRootName(defaultRoot));
  }

  reset({ scope, data_root }: RequestOf<Calls["resetData"]>, caller: Caller): Answer<"resetData"> {
    return this.#inTurn(caller, async (signal) => {
      const isKept = scope === "baseline";
      const { name, restored } = await this.#roots.reset(data_root, isKept, signal);
      if (!isKept) this.#forgetAbout(aboutKey(name, ""));
      return { ok: true, restored, data_root };
    });
  }

  add({ parts, data_root }: RequestOf<Calls["addData"]>, caller: Caller): Answer<"addData"> {
    return this.#inTurn(caller, async (signal) => {
      const root = await this.#roots.open(data_root, signal);
      const room = await this.#roots.room();
      const staged: Item[] = [];
      const errors: string[] = [];
      for (const [at, part] of parts.entries()) {
        try {
          const item = await this.#stage(part, root, room, signal, caller);
          room.bytes -= item.size_bytes;
          room.files -= 1;
          staged.push(item);
        } catch (error) {
          signal.throwIfAborted();
          errors.push(`parts[${at}]: ${toReason(error)}`);
        }
      }
      return { ok: errors.length === 0, added: staged.length, errors, staged };
    });
  }

  get(request: RequestOf<Calls["getData"]>, caller: Caller): Answer<"getData"> {
    return this.#inTurn(caller, async (signal) => {
      const { name, folder } = await this.#roots.openToRead(request.data_root, signal);
      const found = await filterByQuery(await listFiles(folder), request.query, signal);
      const shown = found.slice(0, envLimits.maxDataItems);
      let truncated = shown.length < found.length;
      let budget = request.include_content ? envLimits.maxContentBytes : 0;
      const items: Item[] = [];
      for (const file of shown) {
        const item = await this.#describe(file, folder, name, signal);
        const isInlined = request.include_content && file.size_bytes <= Math.min(request.max_bytes, budget);
        if (isInlined) Object.assign(item, await readContent(join(folder, file.dest)));
        if (isInlined) budget -= file.size_bytes;
        else truncated ||= request.include_content;
        items.push(item);
      }
      return {
        ok: true,
        items,
        truncated,
        detail: truncated ? `${found.length} files, some were left out or have no content` : "",
      };
    });
  }

  /** Gives a fork its own files. Synchronous, since the parent may continue at once. */
  fork(forked: SessionState): void {
    this.#place.fork(forked);
  }

  /** Takes over the files of a fork, with their `uri` and `mime`. */
  merge(fork: SessionState): { merged: number; conflicts: string[] } {
    const before = this.#place.readable;
    if (!this.#place.adopt(fork))
      return { merged: 0, conflicts: ["data: the session and its fork both changed files"] };
    if (this.#place.readable === before) return { merged: 0, conflicts: [] };
    this.#forgetAbout(aboutPrefix);
    for (const [key, about] of fork.entries()) if (key.startsWith(aboutPrefix)) this.#state.set(key, about);
    return { merged: 1, conflicts: [] };
  }

  /**
   * Aborts the running work and waits for its end, so that the next owner has the folder to itself. Removes the files
   * if the session is closed for good.
   */
  async close(isForGood: boolean): Promise<void> {
    this.#isClosed = true;
    this.#underWay?.abort(closedMeanwhile());
    await this.#turns.ended;
    this.#place.close();
    if (isForGood) await this.#place.remove();
  }

  async #stage(
    part: Part,
    { folder, name: root, partial }: DataRoot,
    room: Room,
    signal: AbortSignal,
    { charge }: Caller,
  ): Promise<Item> {
    signal.throwIfAborted();
    if (part.src === "") throw new Error("src: expected a file of the host");
    const { file, name } = await openSource(part.src, this.#options.sources);
    try {
      const isFolder = part.dest === "" || part.dest.endsWith("/");
      const segments = [...toSegments(part.dest), ...(isFolder ? [name] : [])];
      const { size } = await file.stat();
      if (size > room.bytes) throw new Error(`this session has room for ${room.bytes} more bytes`);
      if (room.files < 1) throw new Error(`this session may stage at most ${this.#options.maxFiles} files`);
      charge?.("bytes_stored", size);
      let checksum = "";
      const verify = async (path: string) => {
        checksum = await checksumOf(path, signal);
        assertAsSaid(part, size, checksum);
      };
      await stageFile({ file, size, folder, segments, partial, signal, verify });
      const dest = segments.join("/");
      const { uri, mime } = part;
      if (uri !== "" || mime !== "") this.#state.set(aboutKey(root, dest), { uri, mime });
      return { uri: uri === "" ? dest : uri, dest, size_bytes: size, checksum, mime };
    } finally {
      await file.close();
    }
  }

  async #describe({ dest, size_bytes }: StagedFile, folder: string, root: string, signal: AbortSignal): Promise<Item> {
    const about = (this.#state.get(aboutKey(root, dest)) as { uri: string; mime: string } | undefined) ?? {
      uri: "",
      mime: "",
    };
    const checksum = await checksumOf(join(folder, dest), signal);
    return { uri: about.uri === "" ? dest : about.uri, dest, size_bytes, checksum, mime: about.mime };
  }

  #forgetAbout(prefix: string): void {
    for (const [key] of [...this.#state.entries()]) if (key.startsWith(prefix)) this.#state.delete(key);
  }

  /** Runs `work` in order. Work is not started for a call that has ended, and is aborted if its call ends. */
  #inTurn<Result>(caller: Caller, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const result = this.#turns.run(async () => {
      if (this.#isClosed) throw closedMeanwhile();
      caller.signal.throwIfAborted();
      const stop = new AbortController();
      const onAbort = () => stop.abort(caller.signal.reason);
      caller.signal.addEventListener("abort", onAbort, { once: true });
      this.#underWay = stop;
      try {
        return await work(stop.signal);
      } catch (error) {
        throw stop.signal.aborted ? stop.signal.reason : error;
      } finally {
        caller.signal.removeEventListener("abort", onAbort);
        await this.#place.touch();
      }
    });
    return Promise.resolve(result);
  }
}

function closedMeanwhile(): A2EError {
  return new A2EError("cancelled", "the session was closed or restored during the call");
}

function assertAsSaid({ checksum, size_bytes }: Part, size: number, found: string): void {
  if (checksum !== "" && checksum.toLowerCase() !== found)
    throw new Error(`checksum: expected ${checksum.slice(0, 80)}, found ${found}`);
  if (size_bytes !== null && size_bytes !== size) throw new Error(`size_bytes: expected ${size_bytes}, found ${size}`);
}

/** Errors of the file system contain paths of the host, which agents must not see. */
function toReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && !(error instanceof A2EError)
    ? `the host could not copy the file (${String(error.code)})`
    : error.message;
}
