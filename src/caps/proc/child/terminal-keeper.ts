// Linux throws away what nobody has read of a terminal yet, all but 4095 bytes, the moment the leader of its session ends.
// So a shell leads, which outlives the program: it says on the terminal, after everything else, how the program ended,
// and waits to be killed by whoever has read that.
import { closingLines, findBash, promptLines } from "../../../machinery/processes/inherited-files.ts";
import { reportDescriptor, reportingLines } from "../../../machinery/processes/program-end.ts";
import { passedSignals } from "../../../machinery/processes/signal-names.ts";
import type { ChildCommand } from "./child.ts";

/** Of a report this much is said on. */
const maxReportLength = 40;
const signals = passedSignals.join(" ");
/** Gives a program back what a keeper ignores. */
const heeding = "/usr/bin/env --default-signal";
/** Reports come through a pipe of the shell's own, and what is written goes to the terminal. */
const openPipe = `exec ${reportDescriptor}>&1 >&6 6>&-`;

/** Caught and not ignored: what is caught here has its usual effect on the program. */
const runReported = `
trap : ${signals}
exec 6>&1
a2e_report=$(${openPipe}; exec "$@")
a2e_code=$?`;

/** Without that command, as on other systems than Linux, a code above 128 stays ambiguous. */
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

/** A path with "=" would be taken for a variable. */
function asProgram(file: string): string {
  return file.includes("=") ? `/bin/sh -c 'exec "$@"' sh` : "";
}

/** A terminal of its own making is opened for the word: that which the program leaves may be set not to wait for room. */
const sayEnd = `
a2e_line='
'
printf '\\033]a2e;%s;%d;%.${maxReportLength}s\\007' "$a2e_token" "$a2e_code" "\${a2e_report##*"$a2e_line"}" > /dev/tty || exit "$a2e_code"
while :; do kill -STOP $$; done`;

export function withKeeper({ file, args, ...rest }: ChildCommand, token: string): ChildCommand {
  // A plain shell that found this would take itself for bash. The program, where it is bash, sets it itself.
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

/** Takes the keeper's word out of what comes from a terminal. */
export class KeeperWord {
  readonly #beginning: string;
  readonly #whole: RegExp;
  /** What may turn out to be its beginning. */
  #held = Buffer.alloc(0);

  /** The token has letters, digits and dashes. */
  constructor(token: string) {
    this.#beginning = `\x1b]a2e;${token};`;
    this.#whole = new RegExp(`${this.#beginning.replace("]", "\\]")}(\\d{1,3});([^\x07]{0,${maxReportLength}})\x07`);
  }

  /** What the program wrote, and how it ended once that has been said: nothing after it counts. */
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

  /** What was held back, where the word will not come any more. */
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
