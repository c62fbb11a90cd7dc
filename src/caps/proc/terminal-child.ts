// A program on a terminal of its own. The one place that knows the optional library behind it.
import { constants } from "node:os";
import type { Child, ChildCommand, ChildEvents } from "./child.ts";

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** Beyond what its types say: bytes pass as they are where no encoding is set, and input waits in a stream. */
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

/** Rejects where the library is missing, and says so. */
export async function startTerminalChild(
  command: ChildCommand,
  size: TerminalSize,
  events: ChildEvents,
): Promise<Child> {
  const { spawn } = await loadLibrary();
  const options = {
    ...size,
    cwd: command.cwd,
    env: { ...command.env },
    encoding: null,
    name: command.env.TERM ?? "xterm-256color",
  };
  const terminal = spawn(command.file, [...command.args], options) as unknown as RawTerminal;
  let hasEnded = false;
  terminal.onData((bytes) => events.output("stdout", bytes));
  terminal.onExit(({ exitCode, signal = 0 }) => {
    hasEnded = true;
    if (signal === 0) events.exited(exitCode, null);
    else events.exited(null, nameOf(signal));
    events.closed();
  });
  return {
    pid: terminal.pid,
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

function nameOf(number: number): NodeJS.Signals {
  const [name = "SIGKILL"] = Object.entries(constants.signals).find(([, known]) => known === number) ?? [];
  return name as NodeJS.Signals;
}
