// What a sandbox would make of a command, for processes that are not to be confined. Nothing has to be prepared for them,
// so they start as fast as the system starts a process: asking the file system in threads would take a tenth of that again.
import { statSync } from "node:fs";
import type { ConfinedCommand, Confinement } from "../../../host/ports/sandbox.ts";
import { exitBehindShell } from "../../../machinery/processes/program-end.ts";

/** Throws where there is no such folder. The program was looked for before. */
export function unconfined({ argv: [file, ...args], cwd, env, isTerminal }: ConfinedCommand): Confinement {
  const folder = statSync(cwd, { throwIfNoEntry: false });
  if (folder?.isDirectory() !== true) throw new Error(`the working directory ${cwd} is no folder`);
  return {
    file,
    args,
    cwd,
    env,
    // On a terminal, its keeper stands in between.
    exitOf: isTerminal ? exitBehindShell : (exit) => exit,
    verdict: async () => undefined,
    // Its group, which is all there is, is ended by whoever started it.
    release: async () => {},
  };
}
