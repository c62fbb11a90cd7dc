// The interpreter named in the first line of a script. The system looks for it only when the script is executed, and
// reports a missing interpreter as if the script were missing; with a shell in between, only the shell sees that error.
import { accessSync, closeSync, constants, openSync, readSync } from "node:fs";
import { resolve } from "node:path";

/** As much of a file as Linux looks at. */
const lookedAtBytes = 256;
/** A path that is cut off at the end of the buffer does not match. */
const firstLine = /^#![ \t]*([^ \t\n\0]+)[ \t\n\0]/;

/**
 * The path in the first line of a script, as written; undefined for any other program, and for a program that can be
 * run but not read. Synchronous: it takes microseconds, and the thread pool would take longer.
 */
export function readInterpreter(file: string): string | undefined {
  let descriptor: number | undefined;
  try {
    // Does not block if the file has become a pipe in the meantime.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const beginning = Buffer.alloc(lookedAtBytes);
    readSync(descriptor, beginning, 0, lookedAtBytes, 0);
    return firstLine.exec(beginning.toString("utf8"))?.[1];
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/**
 * Throws if the program is a script whose interpreter does not exist, seen from this folder. Valid for a program that
 * sees all files of the host.
 */
export function checkInterpreter(file: string, cwd: string): void {
  const interpreter = readInterpreter(file);
  if (interpreter === undefined) return;
  try {
    accessSync(resolve(cwd, interpreter), constants.X_OK);
  } catch {
    throw new Error(noInterpreter(file, interpreter));
  }
}

export function noInterpreter(program: string, interpreter: string): string {
  return `${program} is a script for ${JSON.stringify(interpreter)}, which does not exist`;
}
