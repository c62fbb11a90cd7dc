// The parts of a WebSocket that both ends must agree on besides the messages: subprotocols, acknowledgements, close
// codes.

/** The version of this framing, and the only subprotocol that a host echoes. */
export const webSocketProtocol = "a2e.v1";
const sessionPrefix = "a2e.session.";
const bearerPrefix = "a2e.bearer.";

export const webSocketCloseCodes = {
  /** The session has ended and all its lines were sent. */
  sessionEnded: 4000,
  unknownSession: 4404,
} as const;

interface Credentials {
  sessionId?: string | undefined;
  token?: string | undefined;
}

/** Browsers cannot set headers on a WebSocket, and URLs are logged: secrets travel as subprotocols. */
export function toSubprotocols({ sessionId, token }: Credentials): string[] {
  const protocols = [webSocketProtocol];
  if (sessionId !== undefined) protocols.push(sessionPrefix + sessionId);
  if (token !== undefined) protocols.push(bearerPrefix + toHex(token));
  return protocols;
}

export function parseSubprotocols(header: string): Credentials {
  const credentials: Credentials = {};
  for (const item of header.split(",")) {
    const protocol = item.trim();
    if (protocol.startsWith(sessionPrefix)) credentials.sessionId = protocol.slice(sessionPrefix.length);
    else if (protocol.startsWith(bearerPrefix)) credentials.token = fromHex(protocol.slice(bearerPrefix.length));
  }
  return credentials;
}

/** A subprotocol is an HTTP token, and a secret may have any character: hexadecimal digits fit both. */
function toHex(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(digits: string): string | undefined {
  if (!/^(?:[0-9a-f]{2})+$/.test(digits)) return undefined;
  const bytes = Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return new TextDecoder().decode(bytes);
}

/** A frame of its own: every line up to `seq` has arrived. The server handles it; the session does not see it. */
export function formatAcknowledgement(seq: number): string {
  return `{"type":"session/ack","seq":${seq}}`;
}

const acknowledgement = /^\{"type":"session\/ack","seq":(\d{1,15})\}$/;

export function parseAcknowledgement(frame: string): number | undefined {
  if (!frame.startsWith('{"type":"session/ack"')) return undefined;
  const found = acknowledgement.exec(frame);
  return found === null ? undefined : Number(found[1]);
}
