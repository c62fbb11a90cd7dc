// A program with pipes or on a terminal, as it is asked for.

import type { Confinement } from "../../../host/ports/sandbox.ts";
import { withoutInheritedFiles } from "../../../machinery/processes/inherited-files.ts";
import { checkInterpreter } from "../../../machinery/processes/script-interpreter.ts";
import type { Child, ChildEvents } from "./child.ts";
import { startPipedChild } from "./piped-child.ts";
import { startTerminalChild, type TerminalSize } from "./terminal-child.ts";

export interface ChildKind extends TerminalSize {
  readonly pty: boolean;
  readonly hasInput: boolean;
  readonly isConfined: boolean;
}

type StartChild = (confinement: Confinement, kind: ChildKind, events: ChildEvents) => Promise<Child>;

export function createChildStarter(): StartChild {
  /** Those that are open: every program inherits them. */
  const terminals = new Set<object>();

  return async ({ file, args, cwd, env }, { pty, hasInput, isConfined, ...size }, events) => {
    const command = { file, args, cwd, env, isReported: isConfined };
    // What confines a program keeps them from it. Without any, it starts as fast as the system starts a process.
    const isClean = isConfined || terminals.size === 0;
    // The system would say it to the shell that stands in between.
    if (!isConfined && (pty || !isClean)) checkInterpreter(file, cwd);
    if (pty) return startTerminalChild(command, size, events, terminals);
    return startPipedChild(isClean ? command : { ...command, ...withoutInheritedFiles(file, args) }, hasInput, events);
  };
}
