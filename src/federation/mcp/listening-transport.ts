// Finds out over stdio which notifications a client of revision 2026-07-28 subscribes to. The SDK does not report that,
// but the session of the host and the servers behind it need it first.
import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { cancelledBy, isListenRequest, type ListenRequest } from "./messages.ts";
import type { Listening } from "./resource-watches.ts";

/** `begin` runs before the SDK gets a request to listen. If it rejects, its error is the answer. */
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
      // The SDK replaces a request by a second one with the same id.
      end(message.id);
      begun.set(message.id, listen(message));
      return;
    }
    const cancelled = cancelledBy(message);
    const listening = cancelled === undefined ? undefined : begun.get(cancelled);
    if (cancelled === undefined || listening === undefined) return transport.onmessage?.(message);
    end(cancelled);
    // Never before the request that it cancels.
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
      // The answer is either a rejection or the end of the subscription.
      const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
      if (isAnswer && message.id !== undefined) end(message.id);
      return inner.send(message, options);
    },
    close: () => inner.close(),
  };
  return transport;
}
