// Writes more to standard output than a pipe holds, then reports on stderr that it has. The first lines are long enough
// to be written only in part; every third line is written with the stream, like the output of other code.
import { createPipeWriter, standardOutputFd } from "./pipe-writer.ts";

const write = createPipeWriter(process.stdout, standardOutputFd(process.stdout));
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  process.stderr.write(`failed with ${code}\n`);
  process.exit();
});

for (let number = 0; number < 200; number++) {
  const line = `${number} ${"é€😀".repeat(6_000 - 30 * number)}\n`;
  if (number % 3 === 2) process.stdout.write(line);
  else write(line);
}
process.stderr.write("all written\n");
