// A program on a terminal of its own. The one place that knows the optional library behind it.
import { randomUUID } from "node:crypto";
import { constants } from "node:os";
import type { Child, ChildCommand, ChildEvents } from "./child.ts";
import { KeeperWord, withKeeper } from "./terminal-keeper.ts";

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

/** Above this, by the convention of shells, an exit code is the number of a signal. */
const signalBase = 128;

/** Rejects where the library is missing, and says so. */
export async function startTerminalChild(
  command: ChildCommand,
  size: TerminalSize,
  events: ChildEvents,
): Promise<Child> {
  const { spawn } = await loadLibrary();
  // Nothing that an agent sees, so it need not be the same in a replay.
  const token = randomUUID();
  const { file, args, cwd, env } = withKeeper(command, token);
  const name = env.TERM ?? "xterm-256color";
  const options = { ...size, cwd, env: { ...env }, encoding: null, name };
  const terminal = spawn(file, [...args], options) as unknown as RawTerminal;
  const word = new KeeperWord(token);
  let hasEnded = false;
  const end = (code: number | null, signal: NodeJS.Signals | null) => {
    hasEnded = true;
    events.exited(code, signal);
    events.closed();
  };
  terminal.onData((bytes) => {
    if (hasEnded) return;
    const { output, code } = word.take(bytes);
    if (output.length > 0) events.output("stdout", output);
    if (code === undefined) return;
    const signal = nameOf(code - signalBase);
    if (signal === undefined) end(code, null);
    else end(null, signal);
  });
  // Only where the keeper was killed too: what it had no time to say is lost with it.
  terminal.onExit(({ exitCode, signal = 0 }) => {
    if (hasEnded) return;
    const rest = word.flush();
    if (rest.length > 0) events.output("stdout", rest);
    if (signal === 0) end(exitCode, null);
    else end(null, nameOf(signal) ?? "SIGKILL");
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

function nameOf(number: number): NodeJS.Signals | undefined {
  const [name] = Object.entries(constants.signals).find(([, known]) => known === number) ?? [];
  return name as NodeJS.Signals | undefined;
}
