import { type Awaitable, andThen } from "../protocol/awaitable.ts";
import { type Credential, isRefusal, type Presented, type ProvenIdentity, type Refusal } from "./credential.ts";

export type AuthenticateIdentity = (presented: Presented) => Awaitable<ProvenIdentity | Refusal>;

/**
 * Asks the kinds of credentials that recognise what was presented, in order, until one accepts it. The shared token
 * comes last: it may have any shape, so also that of an API key or a JWT. If no kind accepts, the refusal is that of
 * the first kind that recognised the shape. Without any kind everything is refused.
 */
export function createAuthentication(credentials: readonly Credential[]): AuthenticateIdentity {
  return (presented) => {
    const kinds = credentials.filter((kind) => kind.recognises(presented));
    const isMissing = presented.token === "" && presented.certificate === undefined;
    return ask(kinds, presented, { refused: isMissing ? "missing" : "wrong" });
  };
}

function ask(
  [kind, ...others]: readonly Credential[],
  presented: Presented,
  refusal: Refusal,
  isFirst = true,
): Awaitable<ProvenIdentity | Refusal> {
  if (kind === undefined) return refusal;
  return andThen(kind.authenticate(presented), (outcome) =>
    isRefusal(outcome) ? ask(others, presented, isFirst ? outcome : refusal, false) : outcome,
  );
}
