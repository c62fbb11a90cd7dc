// The public subpath `a2e/protocol`: the wire and the table language, without any I/O.
export { tables } from "../caps/tables.generated.ts";
export { createMessage, type Decoded, decodeLine, encodeMessage } from "../protocol/codec.ts";
export { acceptedCap, core, type EventKind, errorPayload, eventKinds, eventPayload } from "../protocol/core.ts";
export { canonicalCapability, type Dialect, detectDialect, protocolCapabilities } from "../protocol/dialects.ts";
export { type Clock, createIdSource, type IdSource, type Message, protocolVersion } from "../protocol/envelope.ts";
export {
  A2EError,
  type CoreErrorCode,
  coreErrors,
  type ErrorOptions,
  type ErrorTable,
  fail,
} from "../protocol/errors.ts";
export { type JsonObject, type JsonValue, jsonObject, jsonValue } from "../protocol/json.ts";
export { defaultLimits, type Limits } from "../protocol/limits.ts";
export type { About, Access } from "../protocol/table/about.ts";
export {
  ask,
  type Call,
  type Capability,
  type CapabilitySpec,
  call,
  capability,
  type Push,
  push,
  type RequestInputOf,
  type RequestOf,
  type ResultInputOf,
  type ResultOf,
} from "../protocol/table/capability.ts";
export { createTypeRegistry, type TypeEntry, type TypeRegistry } from "../protocol/table/registry.ts";
export type { Transport, TransportEvents } from "../protocol/transport.ts";
