import type { Message } from "./envelope.ts";
import type { TypeRegistry } from "./table/registry.ts";

/** A push or a question under the name that the documentation gives it: the first of its other names. */
export function inDocsSpelling(message: Message, registry: TypeRegistry): Message {
  const entry = registry.get(message.type);
  const spelling =
    entry?.kind === "push"
      ? entry.push.aliases[0]
      : entry?.kind === "ask"
        ? Object.keys(entry.call.aliases)[0]
        : undefined;
  return spelling === undefined ? message : { ...message, type: spelling };
}
