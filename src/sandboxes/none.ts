// No confinement, only if configured by name: programs run as the host's user, with only their environment separated.
// Limits and the network policy have no effect.

import { withoutInheritedFiles } from "../machinery/processes/inherited-files.ts";
import type { ProcessSandbox } from "../plugin/ports/sandbox.ts";
import { verdictOfSignal } from "./processes/process-exit.ts";
import { checkCommand, checkWorkingDirectory, everything, findProgram } from "./workspace/visible-paths.ts";

export function createNoSandbox(): ProcessSandbox {
  return {
    kind: "process",
    name: "none",
    async confine(command) {
      checkCommand(command);
      await checkWorkingDirectory(command.cwd, everything);
      return {
        ...withoutInheritedFiles(await findProgram(command, everything), command.argv.slice(1)),
        cwd: command.cwd,
        env: command.env,
        exitOf: ({ code, signal }) => ({ code, signal }),
        verdict: async (exit) => verdictOfSignal(exit),
        // The caller ends the process group, and there is nothing else to release.
        release: async () => {},
      };
    },
    async close() {},
  };
}
