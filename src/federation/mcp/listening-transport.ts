// What a client of the revision of 2026-07-28 wants to be told over stdio. The SDK keeps that to itself; the session that
// there is news of, and the servers behind the host, have to hear of it first.
import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { cancelledBy, isListenRequest, type ListenRequest } from "./messages.ts";
import type { Listening } from "./resource-watches.ts";

/** `begin` is asked before the SDK sees a request to listen. An error that it rejects with is the answer. */
export function createListeningTransport(
  inner: Transport,
  begin: (request: ListenRequest) => Promise<Listening | undefined>,
): Transport {
  const begun = new Map<RequestId, Promise<Listening | undefined>>();
  const end = (id: RequestId) => {
    void begun.get(id)?.then((listening) => listening?.end());
    begun.delete(id);
  };
  const listen = async (request: ListenRequest) => {
    try {
      const listening = await begin(request);
      transport.onmessage?.(request);
      return listening;
    } catch (cause) {
      const { code, message, data } = cause as { code: number; message: string; data?: unknown };
      await inner.send({ jsonrpc: "2.0", id: request.id, error: { code, message, data } });
      return undefined;
    }
  };
  const receive = (message: JSONRPCMessage) => {
    if (isListenRequest(message)) {
      // The SDK puts a second one of the same id in the place of the first.
      end(message.id);
      begun.set(message.id, listen(message));
      return;
    }
    const cancelled = cancelledBy(message);
    const listening = cancelled === undefined ? undefined : begun.get(cancelled);
    if (cancelled === undefined || listening === undefined) return transport.onmessage?.(message);
    end(cancelled);
    // Not before what it cancels.
    void listening.then(() => transport.onmessage?.(message));
  };

  const transport: Transport = {
    start() {
      inner.onmessage = receive;
      inner.onerror = (error) => transport.onerror?.(error);
      inner.onclose = () => {
        for (const id of begun.keys()) end(id);
        transport.onclose?.();
      };
      return inner.start();
    },
    send(message, options) {
      // A refusal, or the end of what was begun.
      const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
      if (isAnswer && message.id !== undefined) end(message.id);
      return inner.send(message, options);
    },
    close: () => inner.close(),
  };
  return transport;
}
