// When the leader of a session ends, Linux discards the unread output of its terminal, except 4095 bytes. So a shell
// leads the session and outlives the program: after all other output it prints the exit code to the terminal, and waits
// to be killed by the reader.
import { closingLines, findBash, promptLines } from "../../../machinery/processes/inherited-files.ts";
import { reportDescriptor, reportingLines } from "../../../machinery/processes/program-end.ts";
import { passedSignals } from "../../../machinery/processes/signal-names.ts";
import type { ChildCommand } from "./child.ts";

/** The number of characters of a report that are passed on. */
const maxReportLength = 40;
const signals = passedSignals.join(" ");
/** Restores the default handling of signals that the keeper ignores. */
const heeding = "/usr/bin/env --default-signal";
/** Reports go through a pipe of the shell; output goes to the terminal. */
const openPipe = `exec ${reportDescriptor}>&1 >&6 6>&-`;

/** The shell catches signals and does not ignore them, because ignored signals would be ignored by the program too. */
const runReported = `
trap : ${signals}
exec 6>&1
a2e_report=$(${openPipe}; exec "$@")
a2e_code=$?`;

/** Without `env --default-signal`, as on systems other than Linux, an exit code above 128 stays ambiguous. */
const runPlain = (file: string) => `
${promptLines}
if ${heeding} /bin/sh -c : 2> /dev/null; then
  trap '' ${signals}
  exec 6>&1
  a2e_report=$(${[openPipe, ...reportingLines(`${heeding} ${asProgram(file)} "$@"`)].join("\n")}
    exit "$code")
  a2e_code=$?
else
  trap : ${signals}
  "$@"
  a2e_code=$?
fi`;

/** `env` would take a path with "=" for a variable. */
function asProgram(file: string): string {
  return file.includes("=") ? `/bin/sh -c 'exec "$@"' sh` : "";
}

/** The message is written to a newly opened terminal: the program may have left the old descriptor non-blocking. */
const sayEnd = `
a2e_line='
'
printf '\\033]a2e;%s;%d;%.${maxReportLength}s\\007' "$a2e_token" "$a2e_code" "\${a2e_report##*"$a2e_line"}" > /dev/tty || exit "$a2e_code"
while :; do kill -STOP $$; done`;

export function withKeeper({ file, args, ...rest }: ChildCommand, token: string): ChildCommand {
  // A shell that finds BASH_VERSION in its environment would take itself for bash. If the program is bash, it sets the
  // variable itself.
  const { BASH_VERSION, ...env } = rest.env;
  const closing = process.platform === "linux" ? closingLines({ bash: findBash(), lastKept: 2, otherwise: ":" }) : "";
  const script = `${closing}
a2e_token=$1
shift
${rest.isReported ? runReported : runPlain(file)}
${sayEnd}`;
  return { ...rest, env, file: "/bin/sh", args: ["-c", script, script, token, file, ...args] };
}

const beginningOfEnd = new RegExp(`^\\d{0,3}(;[^\x07]{0,${maxReportLength}})?$`);

/** Removes the keeper's message from the output of a terminal. */
export class KeeperWord {
  readonly #beginning: string;
  readonly #whole: RegExp;
  /** Bytes that may be the beginning of the message. */
  #held = Buffer.alloc(0);

  /** The token consists of letters, digits and dashes. */
  constructor(token: string) {
    this.#beginning = `\x1b]a2e;${token};`;
    this.#whole = new RegExp(`${this.#beginning.replace("]", "\\]")}(\\d{1,3});([^\x07]{0,${maxReportLength}})\x07`);
  }

  /** The output of the program, and its end once the message has arrived. Everything after the message is ignored. */
  take(bytes: Buffer): { output: Buffer; end?: { code: number; report: string } } {
    const known = Buffer.concat([this.flush(), bytes]);
    const text = known.toString("latin1");
    const word = this.#whole.exec(text);
    if (word !== null) {
      const [, code, report = ""] = word;
      return { output: known.subarray(0, word.index), end: { code: Number(code), report } };
    }
    const last = text.lastIndexOf("\x1b");
    if (last === -1 || !this.#mayBecome(text.slice(last))) return { output: known };
    this.#held = known.subarray(last);
    return { output: known.subarray(0, last) };
  }

  /** The bytes that were held back, if the message will not arrive any more. */
  flush(): Buffer {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held;
  }

  #mayBecome(text: string): boolean {
    if (this.#beginning.startsWith(text)) return true;
    return text.startsWith(this.#beginning) && beginningOfEnd.test(text.slice(this.#beginning.length));
  }
}
