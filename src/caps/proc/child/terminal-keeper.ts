// Linux throws away what nobody has read of a terminal yet, all but 4095 bytes, the moment the leader of its session ends.
// So a shell leads, which outlives the program: it says on the terminal, after everything else, how the program ended,
// and waits to be killed by whoever has read that.
import { constants } from "node:os";
import type { ChildCommand } from "./child.ts";

/** Caught and not ignored: what is caught here has its usual effect on the program. */
const { SIGKILL, SIGSTOP, SIGCHLD, ...caught } = constants.signals;

/** A terminal of its own making is opened for the word: that which the program leaves may be set not to wait for room. */
const script = `
trap : ${[...new Set(Object.values(caught))].join(" ")}
"$@"
code=$?
printf '\\033]a2e;%s;%d\\007' "$0" "$code" > /dev/tty || exit "$code"
while :; do kill -STOP $$; done
`;

export function withKeeper({ file, args, ...rest }: ChildCommand, token: string): ChildCommand {
  return { ...rest, file: "/bin/sh", args: ["-c", script, token, file, ...args] };
}

/** Takes the keeper's word out of what comes from a terminal. */
export class KeeperWord {
  readonly #beginning: string;
  readonly #whole: RegExp;
  /** What may turn out to be its beginning. */
  #held = Buffer.alloc(0);

  /** The token has letters, digits and dashes. */
  constructor(token: string) {
    this.#beginning = `\x1b]a2e;${token};`;
    this.#whole = new RegExp(`${this.#beginning.replace("]", "\\]")}(\\d{1,3})\x07`);
  }

  /** What the program wrote, and its exit code once that has been said: nothing after it counts. */
  take(bytes: Buffer): { output: Buffer; code?: number } {
    const known = Buffer.concat([this.flush(), bytes]);
    const text = known.toString("latin1");
    const word = this.#whole.exec(text);
    if (word !== null) return { output: known.subarray(0, word.index), code: Number(word[1]) };
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
    return text.startsWith(this.#beginning) && /^\d{0,3}$/.test(text.slice(this.#beginning.length));
  }
}
