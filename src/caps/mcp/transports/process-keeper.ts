// Ends the processes of a host that was killed. A server whose input is closed should end by itself; this is for those
// that do not, and for what they started: a shell of a few hundred kilobytes that outlives the host by a second.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { withoutInheritedFiles } from "../../../machinery/processes/inherited-files.ts";

// Reads `+ <group>` and `- <group>`; at the end of its input, which comes with the end of the host, kills what is left.
const script = `
groups=""
while read -r change group; do
  if [ "$change" = + ]; then groups="$groups $group"; continue; fi
  left=""
  for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done
  groups=$left
done
[ -n "$groups" ] || exit 0
sleep 1
for one in $groups; do kill -s KILL -- "-$one" 2>/dev/null; done
`;

export class ProcessKeeper {
  #shell: ChildProcess | undefined;

  /** Notes a group of processes that must not outlive this one. On Windows there are no groups, and nothing is noted. */
  add(group: number): void {
    this.#tell(`+ ${group}`);
  }

  delete(group: number): void {
    this.#tell(`- ${group}`);
  }

  async close(): Promise<void> {
    const shell = this.#shell;
    this.#shell = undefined;
    if (shell === undefined || shell.exitCode !== null || shell.signalCode !== null) return;
    shell.ref();
    const hasExited = once(shell, "exit");
    // What is still on its list was ended by its owner already: nothing to wait a second for.
    shell.kill("SIGKILL");
    await hasExited;
  }

  #tell(line: string): void {
    if (process.platform === "win32") return;
    this.#shell ??= start();
    this.#shell.stdin?.write(`${line}\n`);
  }
}

function start(): ChildProcess {
  // A session of its own: what a terminal or a supervisor sends to the host's group is not for this one.
  const { file, args } = withoutInheritedFiles("/bin/sh", ["-c", script]);
  const shell = spawn(file, args, { stdio: ["pipe", "ignore", "ignore"], detached: true, env: {} });
  // Without a shell the guarantee is weaker, and everything else works.
  shell.on("error", () => {});
  shell.stdin.on("error", () => {});
  shell.unref();
  (shell.stdin as unknown as { unref?(): void }).unref?.();
  return shell;
}
