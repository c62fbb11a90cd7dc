// Cleans up after a host that was killed. A killed host runs no code of its own, so a small shell process beside it holds
// the reading end of a pipe and a list of entries: process groups, or labels of containers. If the pipe ends without a
// "bye", the host is gone, and the shell runs its clean-up lines over the entries that are left.
import { type ChildProcess, spawn } from "node:child_process";
import { withoutInheritedFiles } from "./inherited-files.ts";

export interface OrphanGuardOptions {
  /** The shell's name in a list of processes. */
  readonly name: string;
  /** Shell lines that run after the host was killed, with the remaining entries in `$entries`, which may be empty. */
  readonly cleanUp: string;
  /** `$1`, `$2` and so on of these lines. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Clean-up lines for a guard whose entries are process groups. */
export const killGroups = 'for one in $entries; do kill -s KILL -- "-$one"; done';

/**
 * The signals that a terminal or a supervisor sends to all its processes are ignored: the clean-up comes after them.
 * The first entries are part of the script, so that the shell has them even if the host is killed while the shell
 * starts.
 */
const toScript = (entries: Iterable<string>, cleanUp: string) => `
trap '' INT TERM HUP QUIT
entries='${[...entries].join(" ")}'
while read -r word entry; do
  case $word in
    add) entries="$entries $entry" ;;
    drop) left=''; for one in $entries; do [ "$one" = "$entry" ] || left="$left $one"; done; entries=$left ;;
    bye) exit 0 ;;
  esac
done
${cleanUp}
`;

/** How long `close` waits for a shell that does not answer, for example after a SIGSTOP. */
const patienceMs = 1_000;
/** How often a shell that was killed is started again at once. Afterwards only the next `add` or `start` tries. */
const maxRestarts = 10;
const searchPath = "/usr/local/bin:/usr/bin:/bin";

/**
 * On Windows, and if no shell can be started, a guard does nothing: the host works as usual, but a killed host leaves its
 * entries behind.
 */
export class OrphanGuard {
  readonly #options: OrphanGuardOptions;
  readonly #entries = new Set<string>();
  #shell: ChildProcess | undefined;
  #restartsLeft = maxRestarts;
  #isClosed = false;

  constructor(options: OrphanGuardOptions) {
    this.#options = options;
  }

  /** Starts the shell ahead of the first entry, since it takes as long to start as any other program. */
  start(): void {
    if (this.#shell === undefined && !this.#isClosed) this.#start();
  }

  /**
   * Adds an entry; adding it twice is adding it once. Add a process in the turn of the event loop in which it was started:
   * a host that is killed in between leaves it behind.
   */
  add(entry: string | number): void {
    const text = String(entry);
    // The shell splits the list at spaces and expands wildcards in it.
    if (!/^[\w.=:/-]+$/.test(text)) throw new TypeError(`"${text}" cannot be an entry of a guard`);
    if (this.#isClosed || this.#entries.has(text)) return;
    this.#entries.add(text);
    if (this.#shell === undefined) this.#start();
    else this.#send(`add ${text}`);
  }

  /** Removes an entry that has ended. The system may give its number to a stranger, who must not be killed. */
  drop(entry: string | number): void {
    if (this.#entries.delete(String(entry))) this.#send(`drop ${entry}`);
  }

  /** Ends the shell without a clean-up: end the entries first. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const shell = this.#shell;
    if (shell === undefined) return;
    const hasEnded = new Promise<void>((resolve) => shell.once("exit", () => resolve()).once("error", () => resolve()));
    this.#send("bye");
    shell.stdin?.end();
    shell.ref();
    const timer = setTimeout(() => shell.kill("SIGKILL"), patienceMs);
    await hasEnded;
    clearTimeout(timer);
  }

  #start(): void {
    if (process.platform === "win32") return;
    const { name, cleanUp, args = [], env = {} } = this.#options;
    // The shell lives as long as the host. Without this it would keep every terminal open that is open now.
    const program = withoutInheritedFiles("/bin/sh", ["-c", toScript(this.#entries, cleanUp), name, ...args]);
    const shell = spawn(program.file, program.args, {
      stdio: ["pipe", "ignore", "ignore"],
      env: { PATH: searchPath, ...env },
      cwd: "/",
      // A session of its own, so that signals for the host's process group do not reach it.
      detached: true,
    });
    this.#shell = shell;
    shell.once("exit", () => {
      this.#forget(shell);
      if (this.#isClosed || this.#shell !== undefined || this.#restartsLeft === 0) return;
      this.#restartsLeft -= 1;
      this.#start();
    });
    // A shell that could not be started has no exit, and may have no pipe.
    shell.on("error", () => this.#forget(shell));
    shell.stdin?.on("error", () => {});
    // The host may end while its guard still runs.
    shell.unref();
    (shell.stdin as unknown as { unref?(): void } | null)?.unref?.();
  }

  #forget(shell: ChildProcess): void {
    if (this.#shell === shell) this.#shell = undefined;
  }

  #send(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`);
  }
}
