// A host may hold files open that every program inherits: those that it was started with itself, and the terminals of other
// sessions, which their library does not mark as its own. Node cannot mark them either, so they are closed on the way to a
// program, by a shell that then becomes it.
import { existsSync, readdirSync, readlinkSync } from "node:fs";

export interface ClosingOptions {
  bash: string | undefined;
  /** The last number that stays open. */
  lastKept: number;
  /** What to do where they cannot be closed: they are not to be seen, or only bash could, and there is none. */
  otherwise: string;
}

/**
 * Lines of a script that is run with itself as its name: a plain shell knows only files of one digit, and begins anew in
 * bash where there are others. Variables of the program's environment are left alone.
 */
export function closingLines({ bash, lastKept, otherwise }: ClosingOptions): string {
  const again = bash === undefined ? otherwise : `exec ${[bash, ...plainBash].join(" ")} -c "$0" "$0" "$@"`;
  return `a2e_more=
for a2e_file in /proc/self/fd/*; do
  a2e_file=\${a2e_file##*/}
  case $a2e_file in *[!0-9]*) ${otherwise}; break ;; esac
  if [ "$a2e_file" -le ${lastKept} ]; then continue; fi
  if [ "$a2e_file" -le 9 ] || [ -n "$BASH_VERSION" ]; then eval "exec $a2e_file>&-"; else a2e_more=1; fi
done
[ -z "$a2e_more" ] || ${again}`;
}

/** Neither files of a user nor variables tell it what to do. As a remote login, which it takes pipes of Node for, it would ask. */
const plainBash = ["--norc", "-p"];

/** Bash drops the prompts that are meant for the program, since it needs none itself. The system still has them. */
export const promptLines = `if [ -n "$BASH_VERSION" ]; then
  while IFS= read -r -d '' a2e_variable; do
    case $a2e_variable in PS[12]=*) export "$a2e_variable" ;; esac
  done < /proc/self/environ
fi 2> /dev/null`;

/** Where bash mostly is. */
export function findBash(): string | undefined {
  return ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path));
}

/** The same program without files of the host. Where that cannot be had, the program as it is: it is not confined. */
export function withoutInheritedFiles(file: string, args: readonly string[]): { file: string; args: string[] } {
  const bash = process.platform === "linux" ? findBash() : undefined;
  if (bash === undefined) return { file, args: [...args] };
  const script = `${closingLines({ bash, lastKept: 2, otherwise: ":" })}\n${promptLines}\nexec "$@"`;
  // Bash never begins anew, so that its name is free for what it says where the program cannot be started.
  return { file: bash, args: [...plainBash, "-c", script, "a2e", file, ...args] };
}

/** Whether this process holds terminals of its sessions, which a program started now would inherit. */
export function holdsTerminals(): boolean {
  if (process.platform !== "linux") return false;
  try {
    return readdirSync("/proc/self/fd").some(isTerminalMaster);
  } catch {
    return true;
  }
}

function isTerminalMaster(file: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${file}`).endsWith("/ptmx");
  } catch {
    // Closed meanwhile, as the one by which the folder was read.
    return false;
  }
}
