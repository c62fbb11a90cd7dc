import { InvalidArgumentError } from "commander";

/** The value of an option that is a time. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds > 0 && Number.isFinite(seconds)) return seconds;
  throw new InvalidArgumentError("expected a number of seconds");
}
