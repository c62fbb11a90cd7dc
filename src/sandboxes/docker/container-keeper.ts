// Containers are children of the daemon: when a host is killed, they go on. A shell that holds a pipe to the host removes
// them when that ends without a farewell.
import { type ChildProcess, spawn } from "node:child_process";
import { withoutInheritedFiles } from "../../machinery/processes/inherited-files.ts";

/** More than once: a container that was being made when the host was killed is there only afterwards. */
const script = `
trap '' INT TERM HUP QUIT
read -r word
[ "$word" = bye ] && exit 0
for pause in 0 2; do
  sleep "$pause"
  found=$("$1" ps --all --quiet --filter "label=$2")
  [ -z "$found" ] || "$1" rm --force --volumes $found
done
`;

export interface ContainerKeeperOptions {
  docker: string;
  env: Readonly<Record<string, string>>;
  label: string;
}

export class ContainerKeeper {
  readonly #options: ContainerKeeperOptions;
  #shell: ChildProcess | undefined;

  constructor(options: ContainerKeeperOptions) {
    this.#options = options;
  }

  /** To be called before a container is made. */
  start(): void {
    if (this.#shell !== undefined) return;
    const { docker, env, label } = this.#options;
    // It lives as long as the host, and would hold on to whatever terminal is open now.
    const { file, args } = withoutInheritedFiles("/bin/sh", ["-c", script, "a2e-containers", docker, label]);
    const shell = spawn(file, args, {
      stdio: ["pipe", "ignore", "ignore"],
      env,
      cwd: "/",
      detached: true,
    });
    this.#shell = shell;
    const forget = () => {
      if (this.#shell === shell) this.#shell = undefined;
    };
    shell.on("error", forget);
    shell.once("exit", forget);
    // One that could not be started may have no pipe.
    shell.stdin?.on("error", () => {});
    // The host ends when it wants to, not when this does.
    shell.unref();
    (shell.stdin as unknown as { unref?(): void } | null)?.unref?.();
  }

  close(): void {
    this.#shell?.stdin?.end("bye\n");
    this.#shell = undefined;
  }
}
