// A program on its own terminal. The only file that uses the optional library for terminals.
import { randomUUID } from "node:crypto";
import { signalName } from "../../../machinery/processes/signal-names.ts";
import type { Child, ChildCommand, ChildEvents } from "./child.ts";
import { KeeperWord, withKeeper } from "./terminal-keeper.ts";

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/**
 * The parts of the library that its types omit: without an encoding it emits bytes, and input is buffered in a stream.
 */
interface RawTerminal {
  readonly pid: number;
  onData(listener: (bytes: Buffer) => void): unknown;
  onExit(listener: (exit: { exitCode: number; signal?: number }) => void): unknown;
  write(bytes: Buffer): void;
  resize(cols: number, rows: number): void;
  pause(): void;
  resume(): void;
  destroy(): void;
  readonly _socket?: { readonly writableLength?: number };
}

const endOfInput = Buffer.from([0x04]);
const libraryName = "@lydell/node-pty";

/** Rejects with a clear error if the library is missing. The terminal is in `terminals` while it is open. */
export async function startTerminalChild(
  command: ChildCommand,
  size: TerminalSize,
  events: ChildEvents,
  terminals: Set<object>,
): Promise<Child> {
  const { spawn } = await loadLibrary();
  // Not visible to agents, so it may differ in a replay.
  const token = randomUUID();
  const { file, args, cwd, env } = withKeeper(command, token);
  const name = env.TERM ?? "xterm-256color";
  const options = { ...size, cwd, env: { ...env }, encoding: null, name };
  const terminal = spawn(file, [...args], options) as unknown as RawTerminal;
  terminals.add(terminal);
  const word = new KeeperWord(token);
  let report = "";
  let hasEnded = false;
  const end = (code: number | null, signal: NodeJS.Signals | null) => {
    hasEnded = true;
    events.exited(code, signal);
    events.closed();
  };
  terminal.onData((bytes) => {
    if (hasEnded) return;
    const { output, end: said } = word.take(bytes);
    if (output.length > 0) events.output("stdout", output);
    if (said === undefined) return;
    report = said.report;
    end(said.code, null);
  });
  // Only if the keeper was killed too: then the program's exit code is lost.
  terminal.onExit(({ exitCode, signal = 0 }) => {
    terminals.delete(terminal);
    if (hasEnded) return;
    const rest = word.flush();
    if (rest.length > 0) events.output("stdout", rest);
    if (signal === 0) end(exitCode, null);
    else end(null, signalName(signal) ?? "SIGKILL");
  });
  return {
    pid: terminal.pid,
    get report() {
      return report;
    },
    get pendingInput() {
      return hasEnded ? undefined : (terminal._socket?.writableLength ?? 0);
    },
    write: (bytes) => terminal.write(bytes),
    endInput: () => terminal.write(endOfInput),
    pause: () => terminal.pause(),
    resume: () => terminal.resume(),
    resize: (cols, rows) => {
      if (!hasEnded) terminal.resize(cols, rows);
    },
    destroy: () => terminal.destroy(),
  };
}

async function loadLibrary(): Promise<typeof import("@lydell/node-pty")> {
  try {
    return await import(libraryName);
  } catch (cause) {
    throw new Error(`processes on a terminal need the optional package ${libraryName}, which cannot be loaded here`, {
      cause,
    });
  }
}
