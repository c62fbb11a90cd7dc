// Standard input as text.
import type { Readable } from "node:stream";
import { openTextPipe } from "./text-pipe.ts";

/** To be called once, and instead of `process.stdin`: two readers of the same pipe would take text from each other. */
export function openStandardInput(): Readable {
  try {
    return openTextPipe(0);
  } catch {
    // A file or a terminal: neither can be read this way, and neither is in a hurry.
    return process.stdin.setEncoding("utf8");
  }
}
