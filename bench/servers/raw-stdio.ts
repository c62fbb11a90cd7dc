// The least a child process can do: parse a line, write a line.
import { type RawMessage, rawAnswer } from "../lib/workload.ts";

let rest = "";
let count = 0;

process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    count += 1;
    process.stdout.write(`${JSON.stringify(rawAnswer(JSON.parse(line) as RawMessage, String(count)))}\n`);
  }
});
