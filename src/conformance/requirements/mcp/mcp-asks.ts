// Questions of an MCP server behind the host to the agent.
import type { Message } from "../../../protocol/envelope.ts";
import { check, checkEqual, checkError } from "../../check.ts";
import type { Context } from "../../context.ts";
import type { Peer } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";
import { needsMcp, server_id, textOf, withServer } from "./opened-mcp-server.ts";

/** Makes the server ask through one of its tools; returns the question and the id of the call. */
async function haveAsked(peer: Peer, tool: string, type: string): Promise<{ question: Message; id: string }> {
  const start = peer.received.length;
  const id = peer.post("tool/call/req", { tool_name: `reference__${tool}`, arguments: {} });
  const isNew = (message: Message) => message.type === type && peer.received.indexOf(message) >= start;
  const question = await peer.find(isNew, type);
  const { mcp_request_id } = question;
  check(typeof mcp_request_id === "string" && mcp_request_id !== "", "the question should have an mcp_request_id");
  checkEqual(question.server_id, server_id, "server_id");
  return { question, id };
}

/** An agent that speaks as the documentation does. */
async function connectByTheDocs({ connect, token }: Context): Promise<Peer> {
  const peer = await connect();
  const handshake = { agent_id: "docs", agent_caps: ["tools", "mcp"], auth_token: token, a2e: "1.0" };
  const answer = await peer.request("handshake/req", { ...handshake, version: undefined });
  checkEqual(answer.ok, true, "handshake");
  return peer;
}

export const mcpAsks: readonly Requirement[] = [
  {
    id: "MCP-10",
    title: "a server that wants a completion has the agent asked, and an answer under either type reaches it",
    source: "wire facts 3.10 (X1, X2)",
    level: "must",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        for (const answerType of ["mcp/sample/resp", "mcp/sample/req"]) {
          const { question, id } = await haveAsked(peer, "sample", "mcp/sample/req");
          checkEqual(question.max_tokens, 7, "max_tokens");
          const { mcp_request_id } = question;
          const content = { type: "text", text: `by ${answerType}` };
          const answer = { server_id, mcp_request_id, role: "assistant", content, model: "m", stop_reason: "endTurn" };
          peer.post(answerType, answer);
          checkEqual(textOf(await peer.answerTo(id)), `it said: by ${answerType}`, "what the server got");
        }
      }),
  },
  {
    id: "MCP-11",
    title: "an agent that answers with an error refuses, and the server receives the refusal",
    source: "wire facts 3.10 (mcp_sampling_refused)",
    level: "should",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const { question, id } = await haveAsked(peer, "sample", "mcp/sample/req");
        peer.post("mcp/sample/resp", { mcp_request_id: question.mcp_request_id, error: "not today" });
        const text = String(textOf(await peer.answerTo(id)));
        check(text.startsWith("refused") && text.includes("not today"), `expected a refusal, got ${text}`);
        const failed = await haveAsked(peer, "sample_or_fail", "mcp/sample/req");
        peer.post("mcp/sample/resp", { mcp_request_id: failed.question.mcp_request_id, error: "never" });
        checkError(await peer.answerTo(failed.id), "mcp_sampling_refused");
      }),
  },
  {
    id: "MCP-12",
    title: "a server that wants the roots has the agent asked",
    source: "wire facts 3.10 (X1, X9)",
    level: "must",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const { question, id } = await haveAsked(peer, "roots", "mcp/root/list/req");
        const roots = [{ uri: "file:///home/ada/notes", name: "notes" }];
        peer.post("mcp/root/list/resp", { server_id, mcp_request_id: question.mcp_request_id, roots });
        checkEqual(textOf(await peer.answerTo(id)), JSON.stringify(roots), "what the server got");
      }),
  },
  {
    id: "MCP-16",
    title: "a server that wants a form filled in has the agent asked",
    source: "extension: mcp/elicit",
    level: "extension",
    needs: needsMcp,
    run: (context) =>
      withServer(context, async (peer) => {
        const { question, id } = await haveAsked(peer, "elicit", "mcp/elicit/req");
        checkEqual([question.mode, question.message], ["form", "Who are you?"], "mode and message");
        const { mcp_request_id } = question;
        peer.post("mcp/elicit/resp", { mcp_request_id, action: "accept", content: { name: "Ada" } });
        checkEqual(textOf(await peer.answerTo(id)), "accept: Ada", "what the server got");
      }),
  },
  {
    id: "MCP-17",
    title: "an agent that speaks as the documentation does is asked, and may answer, in its spelling",
    source: "wire facts 3.10 (X1)",
    level: "should",
    needs: needsMcp,
    run: (context) =>
      withServer({ agent: () => connectByTheDocs(context) }, async (peer) => {
        const sampling = await haveAsked(peer, "sample", "mcp/sampling/req");
        const content = { type: "text", text: "words" };
        peer.post("mcp/sampling/resp", { mcp_request_id: sampling.question.mcp_request_id, content, model: "m" });
        checkEqual(textOf(await peer.answerTo(sampling.id)), "it said: words", "what the server got");
        const listing = await haveAsked(peer, "roots", "mcp/roots/list/req");
        peer.post("mcp/roots/list/resp", { mcp_request_id: listing.question.mcp_request_id, roots: [] });
        checkEqual(textOf(await peer.answerTo(listing.id)), "[]", "what the server got");
      }),
  },
];
