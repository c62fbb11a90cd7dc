// Starts a program with pipes or on a terminal.

import { withoutInheritedFiles } from "../../../machinery/processes/inherited-files.ts";
import { checkInterpreter } from "../../../machinery/processes/script-interpreter.ts";
import type { Confinement } from "../../../plugin/ports/sandbox.ts";
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
  /** Open terminals: every program that is started inherits their descriptors. */
  const terminals = new Set<object>();

  return async ({ file, args, cwd, env }, { pty, hasInput, isConfined, ...size }, events) => {
    const command = { file, args, cwd, env, isReported: isConfined };
    // A sandbox closes inherited terminals. If none are open, the program is started directly, which is fastest.
    const isClean = isConfined || terminals.size === 0;
    // With a shell in between, the system would report a missing interpreter to the shell.
    if (!isConfined && (pty || !isClean)) checkInterpreter(file, cwd);
    if (pty) return startTerminalChild(command, size, events, terminals);
    return startPipedChild(isClean ? command : { ...command, ...withoutInheritedFiles(file, args) }, hasInput, events);
  };
}
