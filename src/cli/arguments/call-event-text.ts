// Events of a call, each as a line.
import type { CallEvent } from "../../client/errors.ts";
import { toPlainLine } from "../plain-text.ts";

const maxLength = 500;

export function renderCallEvent({ kind, data }: CallEvent): string {
  const { message, text, status, percent, progress, ...rest } = data;
  const share = typeof percent === "number" ? percent : typeof progress === "number" ? progress * 100 : undefined;
  const words = [message, text, status].find((value) => typeof value === "string");
  const detail = words === undefined && Object.keys(rest).length > 0 ? JSON.stringify(rest) : undefined;
  const parts = [kind, share === undefined ? undefined : `${Math.round(share)}%`, words, detail];
  const line = toPlainLine(parts.filter((part) => part !== undefined).join(" "));
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line;
}
