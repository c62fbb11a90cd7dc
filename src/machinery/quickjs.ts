// A JavaScript interpreter in WebAssembly, for scripts that must not reach the host. To be used in a worker thread: one long
// native operation cannot be interrupted, only its thread be ended.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import sandboxVariant from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
} from "quickjs-emscripten-core";
import { A2EError } from "../protocol/errors.ts";

export interface QuickJsLimits {
  memoryBytes: number;
  /** Time inside the script, all its turns together. */
  timeoutMs: number;
}

export interface QuickJs {
  readonly context: QuickJSContext;
  /** Does something in which code of the script runs. Throws `timeout`, `out_of_memory` or a ScriptError. */
  run<T>(work: () => T): T;
}

/** What the script itself threw. */
export class ScriptError extends Error {}

// The types of the package describe its CommonJS build, in which the default is one level deeper.
const variant = sandboxVariant as unknown as typeof sandboxVariant.default;

/** Compiling takes ten times as long as instantiating; the compiled code is immutable and so may be shared. */
let compiled: Promise<WebAssembly.Module> | undefined;

const pageBytes = 64 * 1024;
/** 16 MB: what the build of QuickJS asks for at least. */
const initialPages = 256;
/** 2 GB: what the build of QuickJS can use at most. */
const maxPages = 32_768;
const stackBytes = 512 * 1024;
const maxErrorLength = 2000;

/**
 * A fresh interpreter in a fresh WebAssembly instance, so that nothing one script leaves behind, not even in memory it
 * corrupted, reaches the next. Never disposed: the whole instance is dropped, and disposing asserts on what a script that was
 * cut off left over.
 */
export async function openQuickJs({ memoryBytes, timeoutMs }: QuickJsLimits): Promise<QuickJs> {
  compiled ??= compileSandbox();
  // QuickJS in WebAssembly counts its allocations, not their sizes, so its own limit lets many small ones pass; memory that
  // cannot grow lets none.
  const pages = Math.min(maxPages, Math.max(initialPages, Math.ceil(memoryBytes / pageBytes)));
  const wasmMemory = new WebAssembly.Memory({ initial: initialPages, maximum: pages });
  const quickJs = await newQuickJSWASMModuleFromVariant(
    newVariant(variant, { wasmModule: await compiled, wasmMemory }),
  );
  const runtime = quickJs.newRuntime();
  let leftMs = timeoutMs;
  let deadline = 0;
  let isOverdue = false;
  runtime.setMemoryLimit(pages * pageBytes);
  runtime.setMaxStackSize(stackBytes);
  runtime.setInterruptHandler(() => {
    isOverdue ||= Date.now() > deadline;
    return isOverdue;
  });

  function run<T>(work: () => T): T {
    const startedAt = Date.now();
    deadline = startedAt + leftMs;
    const late = () => new A2EError("timeout", `the script ran longer than ${timeoutMs / 1000} s`);
    try {
      const result = work();
      // What interrupts an asynchronous function ends up in its promise.
      if (isOverdue) throw late();
      return result;
    } catch (error) {
      if (isOverdue) throw late();
      const mayBeFull = pages === initialPages || wasmMemory.buffer.byteLength > initialPages * pageBytes;
      if (isOutOfMemory(error, mayBeFull)) {
        const megabytes = Math.round(memoryBytes / 1024 / 1024);
        throw new A2EError("out_of_memory", `the script needed more than its ${megabytes} MB of memory`);
      }
      throw error;
    } finally {
      leftMs -= Date.now() - startedAt;
    }
  }

  return { context: runtime.newContext(), run };
}

async function compileSandbox(): Promise<WebAssembly.Module> {
  const path = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm");
  return WebAssembly.compile(await readFile(path));
}

/**
 * With no memory left there is none for an error either: what was thrown then reads as null, or as nothing. Not all of it
 * need be taken by then: an array that grows is moved to a larger place, and what it leaves may be too small for the next.
 */
function isOutOfMemory(error: unknown, mayBeFull: boolean): boolean {
  if (!(error instanceof Error)) return false;
  const isUnsaid = error.message === uncaught(null) || error.message === uncaught("");
  return /out of memory/i.test(error.message) || (mayBeFull && isUnsaid);
}

/** The value, or the ScriptError of what was thrown instead. */
export function unwrap(context: QuickJSContext, result: ReturnType<QuickJSContext["evalCode"]>): QuickJSHandle {
  if (result.error) throw toScriptError(context, result.error);
  return result.value;
}

/** Runs what the script has queued: what follows its promises. */
export function runPendingJobs(context: QuickJSContext): void {
  const jobs = context.runtime.executePendingJobs();
  if (jobs.error) throw toScriptError(jobs.error.context, jobs.error);
}

function uncaught(thrown: unknown): string {
  return `uncaught ${String(thrown)}`.slice(0, maxErrorLength);
}

export function toScriptError(context: QuickJSContext, handle: QuickJSHandle): ScriptError {
  const thrown: unknown = context.dump(handle);
  if (typeof thrown !== "object" || thrown === null) return new ScriptError(uncaught(thrown));
  const { name = "Error", message = "", stack = "" } = thrown as { name?: unknown; message?: unknown; stack?: unknown };
  const place = /script\.js:(\d+(?::\d+)?)/.exec(String(stack))?.[1];
  return new ScriptError(
    `${String(name)}: ${String(message)}${place === undefined ? "" : ` (at ${place})`}`.slice(0, maxErrorLength),
  );
}
