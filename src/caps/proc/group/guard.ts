// Nothing outlives its host, not even one that is killed: a tiny process knows all groups, and when its pipe to the host
// ends without a farewell, it kills them.
import { type ChildProcess, spawn } from "node:child_process";
import { withoutInheritedFiles } from "../../../machinery/processes/inherited-files.ts";
import { markName } from "./group.ts";

/** Reads what the host says. `$1` marks every process of this host, also one that has left its group. */
const script = `
trap '' INT TERM HUP QUIT
groups=''
while read -r word group; do
  case $word in
    add) groups="$groups $group" ;;
    drop) left=''; for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done; groups=$left ;;
    bye) exit 0 ;;
  esac
done
for one in $groups; do kill -KILL -- "-$one"; done
for round in 1 2 3; do
  for file in $(grep -lsaF "${markName}=$1-" /proc/[0-9]*/environ); do
    one=\${file#/proc/}
    kill -KILL "\${one%/environ}"
  done
done
`;

const patienceMs = 1_000;

export class Guard {
  readonly #run: string;
  readonly #groups = new Set<number>();
  #keeper: ChildProcess | undefined;
  #restartsLeft = 10;
  #isClosed = false;

  /** `run` is a word that no other host has. */
  constructor(run: string) {
    this.#run = run;
  }

  /** What the variable that marks a process begins with. */
  get mark(): string {
    return `${this.#run}-`;
  }

  /** To be called in the turn in which the process was started: in between, it would outlive a host that is killed. */
  add(group: number): void {
    this.#groups.add(group);
    if (this.#keeper === undefined) this.#start();
    else this.#say(`add ${group}`);
  }

  drop(group: number): void {
    if (this.#groups.delete(group)) this.#say(`drop ${group}`);
  }

  /** Made before the first process, since it takes as long to start as one. */
  start(): void {
    if (this.#keeper === undefined && !this.#isClosed) this.#start();
  }

  #start(): void {
    // One that is started anew lives as long as the host, and would hold on to every terminal that is open now.
    const { file, args } = withoutInheritedFiles("/bin/sh", ["-c", script, "a2e-guard", this.#run]);
    const keeper = spawn(file, args, {
      stdio: ["pipe", "ignore", "ignore"],
      env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
      cwd: "/",
      detached: true,
    });
    this.#keeper = keeper;
    keeper.on("error", () => {});
    keeper.stdin.on("error", () => {});
    keeper.once("exit", () => {
      if (this.#keeper !== keeper) return;
      this.#keeper = undefined;
      // Somebody killed it. One that cannot live here at all is not tried for ever.
      this.#restartsLeft -= 1;
      if (!this.#isClosed && this.#groups.size > 0 && this.#restartsLeft > 0) this.#start();
    });
    // The host ends when it wants to, not when its guard does.
    keeper.unref();
    (keeper.stdin as unknown as { unref?(): void }).unref?.();
    for (const group of this.#groups) this.#say(`add ${group}`);
  }

  #say(line: string): void {
    this.#keeper?.stdin?.write(`${line}\n`);
  }

  /** What still runs is on its own from now on: end it first. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const keeper = this.#keeper;
    if (keeper === undefined || keeper.exitCode !== null) return;
    const ended = new Promise<void>((resolve) => keeper.once("exit", () => resolve()));
    this.#say("bye");
    keeper.stdin?.end();
    keeper.ref();
    // One that somebody has stopped does not hear it.
    const timer = setTimeout(() => keeper.kill("SIGKILL"), patienceMs);
    await ended;
    clearTimeout(timer);
  }
}
