// The log of a host, for its operator. It must not contain tokens, whole session ids or message bodies.

export type LogFields = Record<string, unknown>;

export interface Logger {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export const silentLogger: Logger = { info() {}, warn() {}, error() {} };

/** One line per entry: time, level, text, fields. */
export function createLogger(write: (line: string) => void): Logger {
  const entry =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      const tail = Object.entries(fields).map(([name, value]) => ` ${name}=${toText(value)}`);
      write(`${new Date().toISOString()} ${level} ${message}${tail.join("")}\n`);
    };
  return { info: entry("info"), warn: entry("warn"), error: entry("error") };
}

/** Handlers may throw any value. Logging it must not fail, even for a cycle, a BigInt or a getter that throws. */
function toText(value: unknown): string {
  try {
    if (value instanceof Error) return JSON.stringify(value.stack ?? value.message);
    return typeof value === "string" && /^[\w./:-]+$/.test(value) ? value : (JSON.stringify(value) ?? String(value));
  } catch {
    return typeof value === "bigint" ? String(value) : `(${typeof value} without a JSON form)`;
  }
}
