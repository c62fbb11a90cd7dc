// The counterpart of a sandbox for processes without one. Nothing has to be prepared, so it is synchronous:
// asynchronous file system calls would add a tenth to the time of starting a process.
import { statSync } from "node:fs";
import { exitBehindShell } from "../../../machinery/processes/program-end.ts";
import type { ConfinedCommand, Confinement } from "../../../plugin/ports/sandbox.ts";

/** Throws if the folder does not exist. The program itself was found before. */
export function unconfined({ argv: [file, ...args], cwd, env, isTerminal }: ConfinedCommand): Confinement {
  const folder = statSync(cwd, { throwIfNoEntry: false });
  if (folder?.isDirectory() !== true) throw new Error(`the working directory ${cwd} is not a folder`);
  return {
    file,
    args,
    cwd,
    env,
    // On a terminal, the keeper stands in between.
    exitOf: isTerminal ? exitBehindShell : (exit) => exit,
    verdict: async () => undefined,
    // Its process group is killed by its caller, and there is nothing else to release.
    release: async () => {},
  };
}
