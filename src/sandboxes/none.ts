// No confinement at all, for those who ask for it by name: programs run as the host, with nothing but their environment
// kept apart. Limits and the network policy mean nothing here.

import type { ProcessSandbox } from "../host/ports/sandbox.ts";
import { withoutInheritedFiles } from "../machinery/processes/inherited-files.ts";
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
        // Its caller has the process group, which is all that there is.
        release: async () => {},
      };
    },
    async close() {},
  };
}
