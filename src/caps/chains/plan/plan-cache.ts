// Caches compiled chains. Agents send the same chains repeatedly, and comparing is much cheaper than compiling.
import * as z from "zod";
import { isLargerThan } from "../../../machinery/validation/json-size.ts";
import { chainLimits } from "../limits.ts";
import { type ChainNode, chainNode } from "../protocol.ts";
import { type Compiled, type CompileOptions, compileChain } from "./compile.ts";
import { createComparison } from "./same-json.ts";

interface Entry {
  readonly nodes: readonly ChainNode[];
  readonly entry: string;
  readonly compiled: Compiled;
}

export class PlanCache {
  readonly #options: CompileOptions;
  readonly #maxPlans: number;
  /** By a mark that equal chains share; of different chains with the same mark, the last stays. */
  readonly #entries = new Map<string, Entry>();
  readonly #isSame = createComparison(z.array(chainNode));

  constructor(options: CompileOptions, maxPlans: number) {
    this.#options = options;
    this.#maxPlans = maxPlans;
  }

  /** Keeps the nodes: the caller must not change them afterwards. */
  compile(nodes: readonly ChainNode[], entry: string): Compiled {
    const mark = `${nodes.length} ${nodes[0]?.node_id ?? ""} ${nodes.at(-1)?.node_id ?? ""} ${nodes.at(-1)?.name ?? ""}`;
    const known = this.#entries.get(mark);
    if (known !== undefined && known.entry === entry && this.#isSame(known.nodes, nodes)) return known.compiled;
    const compiled = compileChain(nodes, entry, this.#options);
    this.#entries.delete(mark);
    if (isLargerThan(nodes, chainLimits.maxPlanBytes)) return compiled;
    if (this.#entries.size >= this.#maxPlans) this.#entries.delete(this.#entries.keys().next().value as string);
    this.#entries.set(mark, { nodes, entry, compiled });
    return compiled;
  }
}
