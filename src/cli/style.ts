// Colours, if the output is a terminal.
import { styleText } from "node:util";

type Paint = (text: string) => string;
export type Style = Readonly<Record<"bold" | "dim" | "red" | "green" | "yellow", Paint>>;

/** Plain unless the stream is a terminal; NO_COLOR (https://no-color.org) and TERM=dumb switch colours off. */
export function createStyle(stream: { isTTY?: boolean }, env: Readonly<Record<string, string | undefined>>): Style {
  const isColoured = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  const paint =
    (format: keyof Style): Paint =>
    (text) =>
      // Without validation: it would look at the process's own stream, not at ours.
      isColoured ? styleText(format, text, { validateStream: false }) : text;
  return { bold: paint("bold"), dim: paint("dim"), red: paint("red"), green: paint("green"), yellow: paint("yellow") };
}
