// The answer to a call while it is still in the process that made it. An agent in that process takes it as it is; for all
// others it becomes a message, and then has an envelope and the second names of its fields as well.

import { addMirrors } from "../dialects.ts";
import { type Message, protocolVersion } from "../envelope.ts";
import type { JsonObject } from "../json.ts";
import type { Call } from "./capability.ts";

export class CheckedAnswer {
  /** The table whose check the result has passed. */
  readonly call: Call;
  /** The name of the answer, in the family of names in which was asked. */
  readonly type: string;
  readonly req_id: string;
  /** A copy made by the check: it may be kept, and no other code writes to it. */
  readonly result: JsonObject;
  readonly #madeAt: number;

  /** `madeAt` in milliseconds since 1970. */
  constructor(call: Call, type: string, req_id: string, result: JsonObject, madeAt: number) {
    this.call = call;
    this.type = type;
    this.req_id = req_id;
    this.result = result;
    this.#madeAt = madeAt;
  }

  toMessage(id: string): Message {
    const message: Message = {
      type: this.type,
      id,
      a2e: protocolVersion,
      version: protocolVersion,
      ts: this.#madeAt / 1000,
      req_id: this.req_id,
      ...this.result,
    };
    addMirrors(this.call, message);
    return message;
  }
}
