// The HTTP server of the callback address, for a browser on this machine. It listens only while an authorisation is
// pending.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Logger } from "../../../plugin/logger.ts";

type Finish = (params: URLSearchParams) => Promise<void>;

const loopback = ["127.0.0.1", "localhost", "[::1]"];

export class CallbackServer {
  readonly url: URL;
  readonly #log: Logger;
  readonly #awaited = new Map<string, Finish>();
  #server: Server | undefined;

  constructor(url: string, log: Logger) {
    this.url = new URL(url);
    this.#log = log;
  }

  /**
   * Calls `finish` when a browser arrives with this state. Listens only if the callback address is an http: address of
   * this machine.
   */
  expect(state: string, finish: Finish): void {
    this.#awaited.set(state, finish);
    if (this.url.protocol !== "http:" || !loopback.includes(this.url.hostname)) return;
    this.#server ??= this.#listen();
  }

  forget(state: string): void {
    this.#awaited.delete(state);
    if (this.#awaited.size > 0) return;
    // close() lets responses that are being sent finish.
    this.#server?.close();
    this.#server = undefined;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#awaited.clear();
    if (server === undefined || !server.listening) return;
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }

  #listen(): Server {
    const server = createServer((request, response) => {
      void this.#answer(new URL(request.url ?? "/", this.url), response);
    });
    server.on("error", (error) => {
      this.#log.warn("cannot listen at the callback address; finish authorisations with mcp/server/authorize/req", {
        error,
      });
      if (this.#server === server) this.#server = undefined;
    });
    // The last pending authorisation may have ended before the server listens.
    server.on("listening", () => {
      if (this.#server !== server) server.close();
    });
    server.listen(Number(this.url.port || 80), this.url.hostname.replaceAll(/[[\]]/g, ""));
    server.unref();
    return server;
  }

  async #answer(asked: URL, response: ServerResponse): Promise<void> {
    const finish = this.#awaited.get(asked.searchParams.get("state") ?? "");
    if (asked.pathname !== this.url.pathname || finish === undefined)
      return say(response, 404, "No such authorisation is pending. It may be finished already, or it timed out.");
    try {
      await finish(asked.searchParams);
      say(response, 200, "Authorised. You can close this window.");
    } catch (error) {
      this.#log.warn("an authorisation failed", { error });
      say(response, 400, "The authorisation failed; see the log of the host for the reason.");
    }
  }
}

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`${text}\n`);
}
