// The data of a session, except for its outgoing lines and the state of its plugins. The journal stores it, a fork
// begins with a changed copy of it, and a recording contains it, all in this form.

import type { Principal } from "../../plugin/principal.ts";
import type { Dialect } from "../../protocol/dialects.ts";

export interface SessionRecord {
  readonly principal: Principal;
  /** Names of the capabilities that were granted. */
  readonly granted: readonly string[];
  readonly dialect: Dialect;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly lastActiveAt: number;
  /** The id of the session from which this session was forked. */
  readonly parent?: string;
}
