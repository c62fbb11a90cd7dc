// The state that all routes of a server share.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ClientCertificate, PeerCredentials } from "../host/authentication.ts";
import type { A2EHost } from "../host/host.ts";
import type { OutboundLine } from "../host/outbound/outbound-log.ts";
import type { PeerBeginning } from "../host/session/session-origin.ts";
import type { Identity } from "../plugin/principal.ts";
import { type Awaitable, andThen, isThenable } from "../protocol/awaitable.ts";
import type { ProtectedResource } from "./protected-resource.ts";
import { remoteNetwork } from "./remote-network.ts";
import { replyUnauthorized } from "./reply.ts";
import { isLoopbackName } from "./request-guard.ts";
import { clientCertificateOf } from "./tls/client-certificate.ts";
import type { WriteRounds } from "./write-rounds.ts";

/** An open stream to a reader, over SSE or WebSocket. */
export interface OpenStream {
  /** Its session has begun to end, and may still send lines. */
  readonly isEnding: boolean;
  /** Called once per keep-alive interval. */
  keepAlive(): void;
  /** Ends the stream because the server stops. */
  end(): void;
}

export interface Door {
  readonly host: A2EHost;
  readonly streams: Set<OpenStream>;
  readonly keepAliveMs: number;
  /** Many readers of a session receive the same lines: formatted once, written many times. */
  readonly formatted: WeakMap<readonly OutboundLine[], Buffer>;
  readonly rounds: WriteRounds;
  /** Set if the host accepts tokens of authorization servers. */
  readonly protectedResource?: ProtectedResource | undefined;
  isDraining: boolean;
}

/** Answers a request without valid credentials. `resource` is the part of the host that it asked for. */
export function refuseUnauthorized(
  { protectedResource }: Door,
  request: IncomingMessage,
  response: ServerResponse,
  resource = "",
): void {
  replyUnauthorized(response, protectedResource?.challenge(request, resource));
}

/**
 * How a session begins whose peer sent this request. A peer that shows a valid credential now waits for its handshake among
 * the sessions of its principal, not among those of its address.
 */
export function beginningOf({ host }: Door, request: IncomingMessage, token?: string): Awaitable<PeerBeginning> {
  const address = remoteNetwork(request.socket.remoteAddress);
  const credentials = credentialsOf(request, token);
  const beginning = { ...(address === undefined ? {} : { address }), ...certificateOf(request) };
  if (credentials.token === "" && credentials.certificate === undefined) return beginning;
  return andThen(identityOf(host, credentials), (identity) => {
    // Throws if the principal has no session left. A peer that shows no credential learns it from its handshake.
    if (identity !== undefined) host.admit(identity);
    return identity?.isAuthenticated === true ? { ...beginning, principalId: identity.id } : beginning;
  });
}

/** Undefined also if it cannot be decided: the handshake asks again, and reports the failure. */
function identityOf(host: A2EHost, credentials: PeerCredentials): Awaitable<Identity | undefined> {
  try {
    const identity = host.authenticate({ agent_id: "", ...credentials });
    return isThenable(identity) ? identity.then(undefined, () => undefined) : identity;
  } catch {
    return undefined;
  }
}

/** What the peer of a request shows to prove who it is. */
export function credentialsOf(request: IncomingMessage, token?: string): PeerCredentials {
  return { token: token ?? bearerToken(request.headers.authorization) ?? "", ...certificateOf(request) };
}

function certificateOf(request: IncomingMessage): { certificate?: ClientCertificate } {
  const certificate = clientCertificateOf(request);
  return certificate === undefined ? {} : { certificate };
}

export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^bearer +(\S+) *$/i.exec(authorization)?.[1];
}

/** A sequence number as a peer names it; 0 for anything else. */
export function parseSeq(text: string | string[] | null | undefined): number {
  return typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/**
 * How far a peer has read that names a line, and maybe the run of the host which it had it from. A power cut may have taken
 * the last lines of another run, and their numbers stand for others now: only those count that this run began with.
 */
export function readUpTo({ host }: Door, session: SeqRange, seq: number, boot?: string | string[] | null): number {
  const isOfThisRun = seq <= session.lastSeq && (typeof boot !== "string" || boot === host.bootId);
  return isOfThisRun ? seq : Math.min(seq, session.startSeq);
}

interface SeqRange {
  readonly startSeq: number;
  readonly lastSeq: number;
}

/**
 * Whether the client may list all sessions: it has the shared token or the role operator, or the host needs no credential
 * and the client is on the same machine.
 */
export async function isOperator({ host }: Door, request: IncomingMessage): Promise<boolean> {
  const identity = await host.authenticate({ agent_id: "", ...credentialsOf(request) });
  if (identity === undefined) return false;
  const { isAuthenticated, roles, chain = [] } = identity;
  const { scopes } = identity as { scopes?: unknown };
  if (!isAuthenticated) return isLoopbackName(request.socket.remoteAddress ?? "");
  // A token that was narrowed has a longer chain, and is not for looking at the sessions of others.
  if (roles === undefined) return true;
  // Another role may deny something, and scopes restrict a key.
  return roles.length > 0 && roles.every((role) => role === "operator") && scopes === undefined && chain.length <= 1;
}
