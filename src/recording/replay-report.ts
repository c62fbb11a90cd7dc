import type { ResultOf } from "../protocol/capability.ts";
import type { replay } from "../protocol/core.ts";

/** What came of a replay: for a program the same as for an agent. */
export type ReplayReport = ResultOf<typeof replay>;
export type Divergence = NonNullable<ReplayReport["divergence"]>;
