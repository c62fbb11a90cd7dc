// What a script names in its first line. The system looks for it only when the script is executed, and says of a missing one no
// more than that the script is missing; where a shell stands in between, it says so to the shell.
import { accessSync, closeSync, constants, openSync, readSync } from "node:fs";
import { resolve } from "node:path";

/** As much of a file as Linux looks at. */
const lookedAtBytes = 256;
/** A path that is not whole is none. */
const firstLine = /^#![ \t]*([^ \t\n\0]+)[ \t\n\0]/;

/**
 * The path in the first line of a script, as it is written; undefined for any other program, and for one that may be run but
 * not read. At once: it takes microseconds, and other threads would take longer to be asked.
 */
export function readInterpreter(file: string): string | undefined {
  let descriptor: number | undefined;
  try {
    // Waits for nobody, should it be a pipe by now.
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

/** Throws where the program is a script that could not be run in this folder, on a host whose files are all in sight. */
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
  return `${program} is a script for ${JSON.stringify(interpreter)}, and there is no such program`;
}
