// A host may hold files open that every program inherits: those that it was started with itself, and the terminals of other
// sessions, which their library does not mark as its own. Node cannot mark them either, so they are closed on the way to a
// program, by a shell that then becomes it.
import { existsSync, readdirSync, readlinkSync } from "node:fs";

export interface ClosingOptions {
  bash: string | undefined;
  /** The last number that stays open. */
  lastKept: number;
  /**
   * Shell command for the case that the files cannot be closed: they cannot be listed, or only bash could close them
   * and there is no bash.
   */
  otherwise: string;
}

/**
 * Lines of a script that receives its own text as `$0`: a plain shell can close only descriptors of one digit, and
 * restarts the script in bash if there are higher ones. Variables of the program's environment are left alone.
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

/**
 * Neither startup files nor variables of the user have an effect. Without `--norc`, bash takes Node's pipes for a
 * remote login and would read its startup file.
 */
const plainBash = ["--norc", "-p"];

/**
 * Bash drops the prompt variables of the program's environment, since it runs without a terminal. They are restored
 * from /proc.
 */
export const promptLines = `if [ -n "$BASH_VERSION" ]; then
  while IFS= read -r -d '' a2e_variable; do
    case $a2e_variable in PS[12]=*) export "$a2e_variable" ;; esac
  done < /proc/self/environ
fi 2> /dev/null`;

/** The usual places of bash. */
export function findBash(): string | undefined {
  return ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path));
}

/**
 * The same program without open files of the host. If that is not possible, the program unchanged: it is not confined.
 */
export function withoutInheritedFiles(file: string, args: readonly string[]): { file: string; args: string[] } {
  const bash = process.platform === "linux" ? findBash() : undefined;
  if (bash === undefined) return { file, args: [...args] };
  const script = `${closingLines({ bash, lastKept: 2, otherwise: ":" })}\n${promptLines}\nexec "$@"`;
  // Bash never restarts the script, so `$0` can be the name that prefixes its error if the program cannot be started.
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
    // Closed in the meantime, like the descriptor that read the folder.
    return false;
  }
}
