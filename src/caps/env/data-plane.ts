// `env/data`: files that a task starts from and leaves behind. Each session has folders of its own; only names, sizes and
// checksums travel. It knows nothing of episodes.
import { cpSync, existsSync } from "node:fs";
import { mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { SessionContext } from "../../host/plugin.ts";
import type { SessionState } from "../../host/session-state.ts";
import type { RequestOf, ResultInputOf } from "../../protocol/capability.ts";
import type { Clock, IdSource } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import {
  checksumOf,
  listFiles,
  openSource,
  readContent,
  type StagedFile,
  stageFile,
  toSegments,
} from "./data-folder.ts";
import { envLimits } from "./limits.ts";
import type { env } from "./protocol.ts";

type Calls = (typeof env)["calls"];
type Item = NonNullable<ResultInputOf<Calls["addData"]>["staged"]>[number];
type Part = RequestOf<Calls["addData"]>["parts"][number];

export interface DataPlaneOptions {
  /** Where the folders of all sessions are. */
  readonly folder: string;
  /** Copied into every new data root. */
  readonly baseline: string | undefined;
  /** Folders that `src` may point into. */
  readonly sources: readonly string[];
  readonly maxBytes: number;
  readonly maxFiles: number;
}

interface Room {
  bytes: number;
  files: number;
}

const folderKey = "data";
const defaultRoot = "/workspace/data";
/** What agents said of a file, by its path: `data/<root>/<dest>`. */
const aboutKey = (root: string, dest: string) => `data/${root}/${dest}`;

export class DataPlane {
  readonly #options: DataPlaneOptions;
  readonly #state: SessionState;
  readonly #nextId: IdSource;
  readonly #clock: Clock;
  /** One change of files at a time. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(options: DataPlaneOptions, { state, nextId, clock }: Pick<SessionContext, "state" | "nextId" | "clock">) {
    this.#options = options;
    this.#state = state;
    this.#nextId = nextId;
    this.#clock = clock;
  }

  /** The folder that environments see. */
  get defaultFolder(): string {
    return this.#folderOf(defaultRoot).folder;
  }

  reset({ scope, data_root }: RequestOf<Calls["resetData"]>): Promise<ResultInputOf<Calls["resetData"]>> {
    return this.#inTurn(async () => {
      const { folder, root } = this.#folderOf(data_root);
      if (scope === "all") {
        await rm(folder, { recursive: true, force: true });
        for (const [key] of [...this.#state.entries()]) if (key.startsWith(aboutKey(root, ""))) this.#state.delete(key);
      }
      const restored = await this.#stageBaseline(folder);
      return { ok: true, restored, data_root };
    });
  }

  add({ parts, data_root }: RequestOf<Calls["addData"]>): Promise<ResultInputOf<Calls["addData"]>> {
    return this.#inTurn(async () => {
      const { folder, root } = await this.#open(data_root);
      const room = await this.#room();
      const staged: Item[] = [];
      const errors: string[] = [];
      for (const [at, part] of parts.entries()) {
        try {
          const item = await this.#stage(part, folder, root, room);
          room.bytes -= item.size_bytes;
          room.files -= 1;
          staged.push(item);
        } catch (error) {
          errors.push(`parts[${at}]: ${toReason(error)}`);
        }
      }
      return { ok: errors.length === 0, added: staged.length, errors, staged };
    });
  }

  get(request: RequestOf<Calls["getData"]>): Promise<ResultInputOf<Calls["getData"]>> {
    return this.#inTurn(async () => {
      const { folder, root } = await this.#open(request.data_root);
      const matches = createMatcher(request.query);
      const found = (await listFiles(folder)).filter(({ dest }) => matches(dest));
      const shown = found.slice(0, envLimits.maxDataItems);
      let truncated = shown.length < found.length;
      let budget = request.include_content ? envLimits.maxContentBytes : 0;
      const items: Item[] = [];
      for (const file of shown) {
        const item = await this.#describe(file, folder, root);
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
        detail: truncated ? `${found.length} files, some left out or without content` : "",
      };
    });
  }

  /** Gives a fork files of its own; at once, since the parent may go on at once. */
  fork(forked: SessionState): void {
    const own = this.#ownFolder;
    if (own === undefined || !existsSync(own)) return forked.delete(folderKey);
    const id = this.#nextId();
    cpSync(own, join(this.#options.folder, id), { recursive: true });
    forked.set(folderKey, { id });
  }

  get #ownFolder(): string | undefined {
    const saved = this.#state.get(folderKey) as { id: string } | undefined;
    return saved === undefined ? undefined : join(this.#options.folder, saved.id);
  }

  #folderOf(data_root: string): { folder: string; root: string } {
    const root = encodeURIComponent(toSegments(data_root).join("/")).slice(0, 200) || "root";
    if (this.#ownFolder === undefined) this.#state.set(folderKey, { id: this.#nextId() });
    return { folder: join(this.#ownFolder as string, root), root };
  }

  async #open(data_root: string): Promise<{ folder: string; root: string }> {
    const opened = this.#folderOf(data_root);
    if (!existsSync(opened.folder)) await this.#stageBaseline(opened.folder);
    return opened;
  }

  async #stageBaseline(folder: string): Promise<number> {
    await mkdir(folder, { recursive: true });
    const { baseline } = this.#options;
    if (baseline === undefined) return 0;
    const files = await listFiles(baseline);
    for (const { dest } of files) {
      const { file } = await openSource(dest, [baseline]);
      await stageFile(file, folder, dest.split("/")).finally(() => file.close());
    }
    return files.length;
  }

  async #stage(part: Part, folder: string, root: string, room: Room): Promise<Item> {
    if (part.src === "") throw new Error("src: expected a file of the host");
    const { file, name } = await openSource(part.src, this.#options.sources);
    try {
      const isFolder = part.dest === "" || part.dest.endsWith("/");
      const segments = [...toSegments(part.dest), ...(isFolder ? [name] : [])];
      const { size } = await file.stat();
      if (size > room.bytes) throw new Error(`this session has room for ${room.bytes} bytes more`);
      if (room.files < 1) throw new Error(`this session may stage ${this.#options.maxFiles} files`);
      let checksum = "";
      await stageFile(file, folder, segments, async (path) => {
        checksum = await checksumOf(path);
        assertAsSaid(part, size, checksum);
      });
      const dest = segments.join("/");
      const { uri, mime } = part;
      if (uri !== "" || mime !== "") this.#state.set(aboutKey(root, dest), { uri, mime });
      return { uri: uri === "" ? dest : uri, dest, size_bytes: size, checksum, mime };
    } finally {
      await file.close();
    }
  }

  async #room(): Promise<Room> {
    const files = await listFiles(this.#ownFolder ?? "");
    const used = files.reduce((sum, file) => sum + file.size_bytes, 0);
    return { bytes: this.#options.maxBytes - used, files: this.#options.maxFiles - files.length };
  }

  async #describe({ dest, size_bytes }: StagedFile, folder: string, root: string): Promise<Item> {
    const about = (this.#state.get(aboutKey(root, dest)) as { uri: string; mime: string } | undefined) ?? {
      uri: "",
      mime: "",
    };
    const checksum = await checksumOf(join(folder, dest));
    return { uri: about.uri === "" ? dest : about.uri, dest, size_bytes, checksum, mime: about.mime };
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => {}).then(() => this.#touch());
    return result;
  }

  /** Data in use is not old, whenever it was staged. */
  async #touch(): Promise<void> {
    const now = this.#clock.now() / 1000;
    await utimes(this.#ownFolder ?? "", now, now).catch(() => {});
  }
}

/** Removes folders that no session has touched for long; a session that still lives starts from the baseline again. */
export async function removeOldData(folder: string, olderThan: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const entry = await stat(join(folder, name)).catch(() => undefined);
    if (entry !== undefined && entry.mtimeMs < olderThan)
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

function assertAsSaid({ checksum, size_bytes }: Part, size: number, found: string): void {
  if (checksum !== "" && checksum.toLowerCase() !== found)
    throw new Error(`checksum: expected ${checksum.slice(0, 80)}, found ${found}`);
  if (size_bytes !== null && size_bytes !== size) throw new Error(`size_bytes: expected ${size_bytes}, found ${size}`);
}

/** Errors of the file system name paths of the host, which are none of an agent's business. */
function toReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && !(error instanceof A2EError)
    ? `the host could not copy the file (${String(error.code)})`
    : error.message;
}

/** Whether a path has the words of the query, or fits it as a pattern. Without backtracking: a query comes from outside. */
function createMatcher(query: string): (path: string) => boolean {
  if (query === "") return () => true;
  if (!/[*?]/.test(query)) return (path) => path.includes(query);
  const pattern = query.replace(/^\.?\//, "");
  // `*.csv` means those in folders as well, as people who write it expect.
  const parts = pattern.includes("/") ? pattern : `**/${pattern}`;
  return (path) => matchesGlob(parts, path) || (parts.startsWith("**/") && matchesGlob(parts.slice(3), path));
}

/** Two rows of a table: which ends of the path each start of the pattern reaches. */
function matchesGlob(pattern: string, path: string): boolean {
  let reached = new Array<boolean>(path.length + 1).fill(false);
  reached[0] = true;
  for (let at = 0; at < pattern.length; at++) {
    const isDeep = pattern[at] === "*" && pattern[at + 1] === "*";
    const isStar = pattern[at] === "*";
    const next = new Array<boolean>(path.length + 1).fill(false);
    for (let end = 0; end <= path.length; end++) {
      const last = path[end - 1];
      if (isStar) next[end] = reached[end] === true || (end > 0 && next[end - 1] === true && (isDeep || last !== "/"));
      else
        next[end] = end > 0 && reached[end - 1] === true && (pattern[at] === "?" ? last !== "/" : pattern[at] === last);
    }
    reached = next;
    if (isDeep) at += 1;
  }
  return reached[path.length] === true;
}
