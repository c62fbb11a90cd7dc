// A host may hold files open that every program inherits: those that it was started with itself, and the terminals of other
// sessions, which their library does not mark as its own. Node cannot mark them either, so they are closed on the way to a
// program, by a shell that then becomes it.
import { existsSync } from "node:fs";

export interface ClosingOptions {
  bash: string | undefined;
  /** The last number that stays open. */
  lastKept: number;
  /** What to do where there are files that only bash could close, and no bash. */
  otherwise: string;
}

/**
 * Lines of a script that is run with itself as its name: a plain shell knows only files of one digit, and begins anew in
 * bash where there are others. Variables of the program's environment are left alone.
 */
export function closingLines({ bash, lastKept, otherwise }: ClosingOptions): string {
  const again = bash === undefined ? otherwise : `exec ${[bash, ...plainBash].join(" ")} -c "$0" "$0" "$@"`;
  return `a2e_more=
for a2e_file in /proc/$$/fd/*; do
  a2e_file=\${a2e_file##*/}
  if [ "$a2e_file" -le ${lastKept} ]; then continue; fi
  if [ "$a2e_file" -le 9 ] || [ -n "$BASH_VERSION" ]; then eval "exec $a2e_file>&-"; else a2e_more=1; fi
done
[ -z "$a2e_more" ] || ${again}`;
}

/** Neither files of a user nor variables tell it what to do. As a remote login, which it takes pipes of Node for, it would ask. */
const plainBash = ["--norc", "-p"];

/** Where bash mostly is. */
export function findBash(): string | undefined {
  return ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path));
}

/** The same program without files of the host. Where that cannot be had, the program as it is: it is not confined. */
export function withoutInheritedFiles(file: string, args: readonly string[]): { file: string; args: string[] } {
  const bash = process.platform === "linux" ? findBash() : undefined;
  if (bash === undefined) return { file, args: [...args] };
  const script = `${closingLines({ bash, lastKept: 2, otherwise: ":" })}\nexec "$@"`;
  return { file: bash, args: [...plainBash, "-c", script, script, file, ...args] };
}
