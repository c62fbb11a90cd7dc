// Approvals of chains, from whoever sits at the terminal.
import { createInterface } from "node:readline/promises";
import { chains } from "../caps/chains/protocol.ts";
import type { A2EClient } from "../client/client.ts";
import { toPlainText } from "./plain-text.ts";
import type { Terminal } from "./terminal.ts";

/** Where nobody is there to ask, nothing is approved. */
export function answerApprovals(client: A2EClient, isApprovingAll: boolean, terminal: Terminal): void {
  client.onAsk(chains.asks.approve, async ({ node_id, message, data }, { signal }) => {
    if (isApprovingAll) return { approved: true, comment: "--yes" };
    const { input } = terminal;
    if ((input as { isTTY?: boolean }).isTTY !== true)
      return { approved: false, comment: "nobody is there to ask; --yes approves everything" };
    terminal.note(toPlainText(`${node_id}: ${message === "" ? "go on?" : message}\n${JSON.stringify(data, null, 2)}`));
    const lines = createInterface({ input, output: process.stderr });
    try {
      const answer = await lines.question("approve? [y/N] ", { signal });
      return { approved: /^y(es)?$/i.test(answer.trim()), comment: "" };
    } finally {
      lines.close();
    }
  });
}
