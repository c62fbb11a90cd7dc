// A raw session: sends the given lines, stores the received ones, and waits for nothing longer than its deadline.
import type { Message } from "../protocol/envelope.ts";
import { Failure, show } from "./check.ts";
import type { Link, LinkEvents } from "./link.ts";
import { noteReceived, noteSent, type Traffic } from "./traffic.ts";

export interface PeerOptions {
  readonly traffic: Traffic;
  readonly sessionNumber: number;
  readonly deadlineMs: number;
}

interface Waiter {
  fits(message: Message): boolean;
  resolve(message: Message): void;
  reject(error: Error): void;
}

export class Peer<OpenedLink extends Link = Link> {
  readonly link: OpenedLink;
  readonly #options: PeerOptions;
  readonly #inbox: Inbox;
  #ids = 0;

  private constructor(link: OpenedLink, inbox: Inbox, options: PeerOptions) {
    this.link = link;
    this.#inbox = inbox;
    this.#options = options;
  }

  static async open<OpenedLink extends Link>(
    openLink: (events: LinkEvents) => Promise<OpenedLink>,
    options: PeerOptions,
  ): Promise<Peer<OpenedLink>> {
    const inbox = new Inbox(options);
    return new Peer(await openLink(inbox), inbox, options);
  }

  /** Every message so far, in order. */
  get received(): readonly Message[] {
    return this.#inbox.messages;
  }

  get endReason(): string | undefined {
    return this.#inbox.endReason;
  }

  /** An id that this session has not used. */
  nextId(): string {
    this.#ids += 1;
    return `c${this.#options.sessionNumber}-${this.#ids}`;
  }

  /** A line as an agent on the SDK would write it; fields may replace any part of the envelope. */
  line(type: string, fields: object = {}): string {
    return JSON.stringify({ type, id: this.nextId(), version: "1.0", ts: Date.now() / 1000, ...fields });
  }

  /** Sends lines together, in a single write. */
  send(...lines: string[]): void {
    for (const line of lines) noteSent(this.#options.traffic, line);
    this.link.write(lines.join("\n"));
  }

  /** Sends a message and returns its id. */
  post(type: string, fields: object = {}): string {
    const line = this.line(type, fields);
    this.send(line);
    return String((JSON.parse(line) as Message).id);
  }

  /** Sends a message and waits for its answer. */
  request(type: string, fields: object = {}): Promise<Message> {
    return this.answerTo(this.post(type, fields));
  }

  call(tool_name: string, args: object = {}, fields: object = {}): Promise<Message> {
    return this.request("tool/call/req", { tool_name, arguments: args, ...fields });
  }

  /** The answer to a request: the first message with its req_id that is not an event. */
  answerTo(id: string): Promise<Message> {
    return this.find((message) => message.req_id === id && !isEvent(message), `answer to "${id}"`);
  }

  /** All answers to a request so far. */
  answersTo(id: string): Message[] {
    return this.received.filter((message) => message.req_id === id && !isEvent(message));
  }

  eventsOf(id: string): Message[] {
    return this.received.filter((message) => message.req_id === id && isEvent(message));
  }

  /** The first message that fits, among those that have come or will. */
  find(fits: (message: Message) => boolean, what: string): Promise<Message> {
    return this.#inbox.find(fits, what);
  }

  /**
   * Sends lines, then a ping, and returns the messages before its pong: everything that the host answers to those
   * lines at once. It never waits for a message that may not come.
   */
  async exchange(...lines: string[]): Promise<Message[]> {
    const start = this.received.length;
    const ping = this.line("ping");
    this.send(...lines, ping);
    const { id } = JSON.parse(ping) as Message;
    const pong = await this.answerTo(id);
    return this.received.slice(start, this.received.indexOf(pong));
  }

  /** Resolves when the host has ended the link. */
  ended(): Promise<string> {
    return this.#inbox.whenEnded();
  }

  close(): Promise<void> {
    return this.link.close();
  }
}

export function isEvent(message: Message): boolean {
  return message.type.endsWith("/event");
}

/** A key that no other session has used with this host. A host with one session per process has seen no key at all. */
export function uniqueKey(peer: Peer): string {
  return `${peer.link.sessionId ?? "sole session"} ${peer.nextId()}`;
}

class Inbox implements LinkEvents {
  readonly messages: Message[] = [];
  readonly #waiters = new Set<Waiter>();
  readonly #endWaiters = new Set<(reason: string) => void>();
  readonly #options: PeerOptions;
  endReason: string | undefined;

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  line(line: string): void {
    const message = noteReceived(this.#options.traffic, this.#options.sessionNumber, line);
    if (message === undefined) return;
    this.messages.push(message);
    for (const waiter of [...this.#waiters]) if (waiter.fits(message)) waiter.resolve(message);
  }

  ended(reason: string): void {
    this.endReason = reason;
    for (const waiter of [...this.#waiters]) waiter.reject(new Failure(`no answer: ${reason}`));
    for (const resolve of [...this.#endWaiters]) resolve(reason);
  }

  find(fits: Waiter["fits"], what: string): Promise<Message> {
    const known = this.messages.find(fits);
    if (known !== undefined) return Promise.resolve(known);
    if (this.endReason !== undefined) return Promise.reject(new Failure(`no ${what}: ${this.endReason}`));
    const { deadlineMs } = this.#options;
    return new Promise((resolve, reject) => {
      const settle =
        <Value>(finish: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          finish(value);
        };
      const waiter: Waiter = { fits, resolve: settle(resolve), reject: settle(reject) };
      const timer = setTimeout(() => {
        waiter.reject(
          new Failure(`no ${what} within ${deadlineMs} ms; the last messages were ${show(this.messages.slice(-3))}`),
        );
      }, deadlineMs);
      this.#waiters.add(waiter);
    });
  }

  whenEnded(): Promise<string> {
    if (this.endReason !== undefined) return Promise.resolve(this.endReason);
    const { deadlineMs } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Failure(`the host did not end the link within ${deadlineMs} ms`)),
        deadlineMs,
      );
      this.#endWaiters.add((reason) => {
        clearTimeout(timer);
        resolve(reason);
      });
    });
  }
}
