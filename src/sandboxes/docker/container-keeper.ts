// Containers are children of the daemon: when a host is killed, they go on. A shell that holds a pipe to the host removes
// them when that ends without a farewell.
import { type ChildProcess, spawn } from "node:child_process";

const script = `
trap '' INT TERM HUP QUIT
read -r word
[ "$word" = bye ] && exit 0
"$1" ps --all --quiet --filter "label=$2" | xargs -r "$1" rm --force --volumes
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
    const shell = spawn("/bin/sh", ["-c", script, "a2e-containers", docker, label], {
      stdio: ["pipe", "ignore", "ignore"],
      env,
      cwd: "/",
      detached: true,
    });
    this.#shell = shell;
    shell.on("error", () => {});
    shell.stdin.on("error", () => {});
    shell.once("exit", () => {
      if (this.#shell === shell) this.#shell = undefined;
    });
    // The host ends when it wants to, not when this does.
    shell.unref();
    (shell.stdin as unknown as { unref?(): void }).unref?.();
  }

  close(): void {
    this.#shell?.stdin?.end("bye\n");
    this.#shell = undefined;
  }
}
