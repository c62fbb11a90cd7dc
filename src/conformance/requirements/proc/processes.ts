// Shared code of the requirements about processes.
import type { Message } from "../../../protocol/envelope.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { asObject, check, checkType, skip } from "../../check.ts";
import type { Peer } from "../../peer.ts";

export const readEventType = "proc/read/event";

export interface OpenProcess {
  readonly id: string;
  readonly answer: Message;
  /** Its output so far. */
  text(stream?: string): string;
  /** Its events so far. */
  events(): Message[];
  /** The first of its events that fits, among those that have come or will. */
  event(fits: (event: Message) => boolean, what: string): Promise<Message>;
  /** Data of the event that reports its end. */
  end(): Promise<JsonObject>;
  request(type: string, fields?: object): Promise<Message>;
}

/** Starts a program that the requirement cannot do without; a host that does not run it is asked less, not failed. */
export async function startProcess(peer: Peer, cmd: readonly string[], fields: object = {}): Promise<OpenProcess> {
  const answer = checkType(await peer.request("proc/spawn/req", { cmd, ...fields }), "proc/spawn/resp");
  if (answer.ok !== true) skip(`the host does not run ${cmd[0]}: ${answer.error}`);
  check(typeof answer.proc_id === "string" && answer.proc_id !== "", "a process that was started needs a proc_id");
  return follow(peer, answer);
}

function follow(peer: Peer, answer: Message): OpenProcess {
  const id = String(answer.proc_id);
  const isOurs = (message: Message) => message.type === readEventType && message.proc_id === id;
  const events = () => peer.received.filter(isOurs);
  const event: OpenProcess["event"] = (fits, what) => peer.find((message) => isOurs(message) && fits(message), what);
  return {
    id,
    answer,
    events,
    event,
    text: (stream = "stdout") =>
      events()
        .filter(({ stream_type }) => stream_type === stream)
        .map((one) => String(dataOf(one).text ?? ""))
        .join(""),
    end: async () => dataOf(await event((one) => dataOf(one).code !== undefined, "event that tells the end")),
    request: (type, fields = {}) => peer.request(type, { proc_id: id, ...fields }),
  };
}

export function dataOf(event: Message): JsonObject {
  return asObject(event.data, "data of the event");
}
