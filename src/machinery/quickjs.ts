// A JavaScript interpreter in WebAssembly, for scripts that must not reach the host. To be used in a worker thread: a
// long native operation cannot be interrupted, only its thread can be ended.
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
  /** Runs `work`, in which code of the script runs. Throws `timeout`, `out_of_memory` or a ScriptError. */
  run<T>(work: () => T): T;
}

/** An error that the script itself threw. */
export class ScriptError extends Error {}

// The types of the package describe its CommonJS build, whose default export is one level deeper.
const variant = sandboxVariant as unknown as typeof sandboxVariant.default;

/** Compiling takes ten times as long as instantiating; the compiled code is immutable and so may be shared. */
let compiled: Promise<WebAssembly.Module> | undefined;

const pageBytes = 64 * 1024;
/** 16 MB: the minimum of the QuickJS build. */
const initialPages = 256;
/** 2 GB: the maximum of the QuickJS build. */
const maxPages = 32_768;
const stackBytes = 512 * 1024;
const maxErrorLength = 2000;

/**
 * Creates an interpreter in a new WebAssembly instance, so that a script cannot affect the next one, not even through
 * memory it corrupted. Never disposed: the whole instance is dropped, and disposing would fail an assertion after an
 * interrupted script.
 */
export async function openQuickJs({ memoryBytes, timeoutMs }: QuickJsLimits): Promise<QuickJs> {
  compiled ??= compileSandbox();
  // QuickJS in WebAssembly counts its allocations, not their sizes, so its own limit lets many small allocations pass.
  // A WebAssembly memory with a maximum cannot be exceeded.
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
      // An interrupt within an asynchronous function ends up in its promise.
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
 * Without free memory QuickJS cannot create an error object either: the error then reads as null or is empty. This can
 * happen before all memory is used: a growing array is moved to a larger block, and the free blocks may be too small
 * for the next.
 */
function isOutOfMemory(error: unknown, mayBeFull: boolean): boolean {
  if (!(error instanceof Error)) return false;
  const isUnsaid = error.message === uncaught(null) || error.message === uncaught("");
  return /out of memory/i.test(error.message) || (mayBeFull && isUnsaid);
}

/** Returns the value, or throws a ScriptError with the error of the script. */
export function unwrap(context: QuickJSContext, result: ReturnType<QuickJSContext["evalCode"]>): QuickJSHandle {
  if (result.error) throw toScriptError(context, result.error);
  return result.value;
}

/** Runs the queued jobs of the script, i.e. the continuations of its promises. */
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
