// The least an HTTP server can do. POST /call answers in the body; POST /send answers over the stream of GET /stream.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type RawMessage, rawAnswer } from "../lib/workload.ts";

const accepted = '{"ok":true}';
const jsonHeaders = { "content-type": "application/json" };
let stream: ServerResponse | undefined;
let count = 0;

const server = createServer({ noDelay: true, keepAliveTimeout: 65_000 }, (request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(": open\n\n");
    stream = response;
    return;
  }
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    body += chunk;
  });
  request.on("end", () => {
    count += 1;
    const answer = JSON.stringify(rawAnswer(JSON.parse(body) as RawMessage, String(count)));
    const reply = request.url === "/call" ? answer : accepted;
    response.writeHead(200, { ...jsonHeaders, "content-length": Buffer.byteLength(reply) });
    response.end(reply);
    if (request.url === "/send") stream?.write(`id: ${count}\ndata: ${answer}\n\n`);
  });
});

server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on("disconnect", () => process.exit());
