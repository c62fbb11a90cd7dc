import type { replay } from "../protocol/core.ts";
import type { ResultOf } from "../protocol/table/capability.ts";

/** The result of a replay, the same for a program as for an agent. */
export type ReplayReport = ResultOf<typeof replay>;
export type Divergence = NonNullable<ReplayReport["divergence"]>;
