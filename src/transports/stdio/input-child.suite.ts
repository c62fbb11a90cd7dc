// Prints a line when it reads standard input, and then each piece of text that it reads.
import { openStandardInput } from "./standard-input.ts";

const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
const input = openStandardInput();
input.on("data", (text: string) => say({ text })).on("end", () => say("end"));
say("ready");
