// How a chain ends that does not reach its end, worded once.
import type { A2EError } from "../../protocol/errors.ts";
import { type ChainProblem, type ChainRunError, chains } from "./protocol.ts";

/** Nothing has run: the first problem says what kind it is, and all are listed. */
export function invalidChain(problems: readonly ChainProblem[]): ChainRunError {
  const code = (["chain_cycle", "bad_entry"] as const).find((known) =>
    problems.some((problem) => problem.code === known),
  );
  const [first] = problems;
  const more = problems.length === 1 ? "" : ` (and ${problems.length - 1} more)`;
  return {
    code: code ?? "chain_error",
    message: `${first?.message ?? "the chain is wrong"}${more}`,
    node_id: first?.node_id ?? "",
    detail: {},
    problems: [...problems],
  };
}

export function timedOut(seconds: number): ChainRunError {
  return {
    code: "timeout",
    message: `the chain did not end within ${seconds} s`,
    node_id: "",
    detail: { timeout_seconds: seconds },
  };
}

export function cancelledByAgent(): ChainRunError {
  return { code: "cancelled", message: "the chain was cancelled by its agent", node_id: "", detail: {} };
}

export function putBack(): ChainRunError {
  const message = "the session was put back to a snapshot while the chain ran";
  return { code: "cancelled", message, node_id: "", detail: {} };
}

export function unknownOutput(run_id: string, node_id: string): A2EError {
  return chains.error("unknown_output", `no large output of "${node_id.slice(0, 80)}" is kept for this run`, {
    detail: { run_id: run_id.slice(0, 80), node_id: node_id.slice(0, 80) },
  });
}
