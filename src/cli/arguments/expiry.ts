import { InvalidArgumentError } from "commander";

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 24 * 3_600_000 };

/** The value of an option that is a time in the future: `90s`, `15m`, `12h`, `30d`, or a date. In milliseconds since 1970. */
export function parseExpiry(text: string, now = Date.now()): number {
  const [, count = "", unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const isDate = /^\d{4}-\d{2}-\d{2}/.test(text);
  const time = unit !== "" ? now + Number(count) * (unitMs[unit] as number) : isDate ? Date.parse(text) : Number.NaN;
  if (time > now) return time;
  throw new InvalidArgumentError("expected a time in the future, such as 90s, 15m, 12h, 30d or 2030-01-31");
}
