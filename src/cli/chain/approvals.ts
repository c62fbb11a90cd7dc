// Approvals of chains, given by the user at the terminal.
import { createInterface } from "node:readline";
import { chains } from "../../caps/chains/protocol.ts";
import type { A2EClient } from "../../client/client.ts";
import { toPlainText } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

interface Approval {
  approved: boolean;
  comment: string;
}

/** Without a terminal, nothing is approved. */
export function answerApprovals(
  client: Pick<A2EClient, "onAsk">,
  isApprovingAll: boolean,
  terminal: Pick<Terminal, "input" | "note">,
): void {
  let last: Promise<unknown> = Promise.resolve();
  client.onAsk(chains.asks.approve, ({ node_id, message, data }, { signal }) => {
    if (isApprovingAll) return { approved: true, comment: "--yes" };
    if ((terminal.input as { isTTY?: boolean }).isTTY !== true)
      return { approved: false, comment: "there is no terminal to ask at; --yes approves everything" };
    const question = `${node_id}: ${message === "" ? "continue?" : message}\n${JSON.stringify(data, null, 2)}`;
    // One after the other: two questions at once would take the same line as their answer.
    const answer = last.then(() => askPerson(toPlainText(question), terminal, signal));
    last = answer;
    return answer;
  });
}

/** Reads plain lines, so that Ctrl-C stays a signal to the whole command. */
function askPerson(question: string, { input, note }: Pick<Terminal, "input" | "note">, signal: AbortSignal) {
  return new Promise<Approval>((resolve) => {
    const notAnswered = { approved: false, comment: "no answer was given" };
    if (signal.aborted) return resolve(notAnswered);
    note(`${question}\napprove? [y/N]`);
    const lines = createInterface({ input });
    const stop = () => lines.close();
    signal.addEventListener("abort", stop, { once: true });
    lines.once("line", (answer) => {
      resolve({ approved: /^y(es)?$/i.test(answer.trim()), comment: "" });
      lines.close();
    });
    lines.once("close", () => {
      signal.removeEventListener("abort", stop);
      resolve(notAnswered);
    });
  });
}
