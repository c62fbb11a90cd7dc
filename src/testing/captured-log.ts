import type { LogFields, Logger } from "../plugin/logger.ts";

export interface LogEntry {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

export interface CapturedLog extends Logger {
  readonly entries: readonly LogEntry[];
}

/** A logger that stores its entries for a test. */
export function createCapturedLog(): CapturedLog {
  const entries: LogEntry[] = [];
  const at =
    (level: LogEntry["level"]) =>
    (message: string, fields: LogFields = {}) => {
      entries.push({ level, message, fields });
    };
  return { entries, info: at("info"), warn: at("warn"), error: at("error") };
}
