// The errors of a chain that does not start or does not end, worded in one place.
import type { A2EError } from "../../protocol/errors.ts";
import { type ChainProblem, type ChainRunError, chains } from "./protocol.ts";

/** The chain was not started: the code is that of the gravest problem, and all problems are listed. */
export function invalidChain(problems: readonly ChainProblem[]): ChainRunError {
  const code = (["chain_cycle", "bad_entry"] as const).find((known) =>
    problems.some((problem) => problem.code === known),
  );
  const [first] = problems;
  const more = problems.length === 1 ? "" : ` (and ${problems.length - 1} more)`;
  return {
    code: code ?? "chain_error",
    message: `${first?.message ?? "the chain is invalid"}${more}`,
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
  return { code: "cancelled", message: "the agent cancelled the chain", node_id: "", detail: {} };
}

export function putBack(): ChainRunError {
  const message = "the session was restored to a snapshot while the chain ran";
  return { code: "cancelled", message, node_id: "", detail: {} };
}

export function unknownOutput(run_id: string, node_id: string): A2EError {
  return chains.error("unknown_output", `no large output of "${node_id.slice(0, 80)}" is kept for this run`, {
    detail: { run_id: run_id.slice(0, 80), node_id: node_id.slice(0, 80) },
  });
}
