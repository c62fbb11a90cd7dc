// A session in this process. JSON is passed as a message, as over the direct transport; other text is passed as a line.
import type { Message } from "../../protocol/envelope.ts";
import type { OpenLink } from "../link.ts";

/** The members of a session that the suite needs; `Session` of the host has them. */
export interface DirectSession {
  readonly id: string;
  receiveLine(line: string): void;
  receiveMessage(message: unknown): void;
  bindTransport(end: { deliver(message: Message): void; closed(): void }): () => void;
  close(reason?: string): Promise<void>;
}

/** A host in this process, created for a single run. */
export interface DirectHost {
  openSession(): DirectSession;
  /** A session of this host that is open: by its id a fork is joined. */
  findSession(id: string): DirectSession | undefined;
  close(): Promise<void>;
}

export type HostFactory = () => Promise<DirectHost>;

export function createDirectLinks(host: DirectHost): OpenLink {
  return async (events, sessionId) => {
    const session = sessionId === undefined ? host.openSession() : host.findSession(sessionId);
    if (session === undefined) throw new Error("the host does not find the session by its id");
    let isClosed = false;
    const unbind = session.bindTransport({
      // Written down at once: the message is only lent.
      deliver: (message) => {
        if (!isClosed) events.line(JSON.stringify(message));
      },
      closed: () => {
        if (!isClosed) events.ended("the host closed the session");
        isClosed = true;
      },
    });
    return {
      sessionId: session.id,
      write(text) {
        for (const line of text.split("\n")) {
          if (line.trim() !== "") receive(session, line.trim());
        }
      },
      async close() {
        isClosed = true;
        unbind();
        await session.close("conformance");
      },
    };
  };
}

function receive(session: DirectSession, line: string): void {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return session.receiveLine(line);
  }
  session.receiveMessage(message);
}
