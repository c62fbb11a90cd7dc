// Opening a session: the agent, the requested and the granted capabilities, in the spelling that the peer can read.
import { protocolCapabilities } from "../../../protocol/dialects.ts";
import type { Message } from "../../../protocol/envelope.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, only, skip } from "../../check.ts";
import { shakeHands } from "../../context.ts";
import type { Peer } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";
import { sdkEnums } from "../../sdk-models.ts";

function acceptedCaps(answer: Message): JsonObject[] {
  return asArray(answer.accepted_caps, "accepted_caps").map((entry) => asObject(entry, "accepted_caps[]"));
}

/** Sends a handshake with exactly these version fields, which determine the dialect. */
async function shakeHandsAs(
  peer: Peer,
  dialect: { version?: string; a2e?: string },
  agent_caps: string[],
  auth_token: string,
): Promise<Message> {
  const id = peer.nextId();
  peer.send(JSON.stringify({ type: "handshake/req", id, ...dialect, agent_id: "conformance", agent_caps, auth_token }));
  return peer.answerTo(id);
}

export const handshake: readonly Requirement[] = [
  {
    id: "HS-1",
    title: "a handshake is answered with ok, a session id, the granted capabilities and max_parallel",
    source: "base protocol tests; handshake page",
    level: "must",
    async run({ connect, token }) {
      const answer = await shakeHands(await connect(), token);
      check(typeof answer.session_id === "string" && answer.session_id !== "", "session_id should not be empty");
      check(
        Number.isInteger(answer.max_parallel) && Number(answer.max_parallel) >= 1,
        "max_parallel should be a positive integer",
      );
      checkEqual(answer.reason ?? "", "", "reason");
      checkEqual(
        acceptedCaps(answer).map(({ capability, enabled }) => [capability, enabled]),
        [["tools", true]],
        "accepted_caps",
      );
    },
  },
  {
    id: "HS-2",
    title: "a granted capability comes with name, type, priority and exclusive of its plugin",
    source: "plugin interface tests (caps_metadata)",
    level: "must",
    async run({ connect, token }) {
      const [entry] = acceptedCaps(await shakeHands(await connect(), token));
      const metadata = asObject(entry?.metadata, "metadata");
      check(
        typeof metadata.name === "string" && metadata.type === "tools",
        `name and type: ${JSON.stringify(metadata)}`,
      );
      check(
        typeof metadata.priority === "number" && typeof metadata.exclusive === "boolean",
        `priority and exclusive: ${JSON.stringify(metadata)}`,
      );
    },
  },
  {
    id: "HS-3",
    title: "a repeated handshake is answered in the same way, with the same session id",
    source: "wire facts C5",
    level: "must",
    async run({ connect, token }) {
      const peer = await connect();
      const first = await shakeHands(peer, token);
      const second = await shakeHands(peer, token);
      checkEqual(second.session_id, first.session_id, "session_id");
      checkEqual(second.accepted_caps, first.accepted_caps, "accepted_caps");
      checkType(await peer.request("tool/list/req"), "tool/list/resp");
    },
  },
  {
    id: "HS-4",
    title: "the session id of the handshake is the session id of the transport",
    source: "wire facts C5",
    level: "must",
    transports: ["direct", "http", "websocket"],
    async run({ connect, token }) {
      const peer = await connect();
      const answer = await shakeHands(peer, token);
      checkEqual(answer.session_id, peer.link.sessionId, "session_id");
    },
  },
  {
    id: "HS-5",
    title: "the SDK's default capabilities, streaming and artifacts, are tolerated",
    source: "wire facts C9; client tests",
    level: "must",
    async run({ connect, token }) {
      const answer = await shakeHands(await connect(), token, ["streaming", "artifacts"]);
      checkEqual(acceptedCaps(answer), [], "accepted_caps");
    },
  },
  {
    id: "HS-6",
    title: "a handshake without any field is served with the defaults",
    source: "base protocol tests (defaults)",
    level: "must",
    async run({ connect, token }) {
      const peer = await connect();
      const answer = checkType(
        await peer.request("handshake/req", token === "" ? {} : { auth_token: token }),
        "handshake/resp",
      );
      checkEqual([answer.ok, acceptedCaps(answer)], [true, []], "ok and accepted_caps");
    },
  },
  {
    id: "HS-7",
    title: "a capability that the host lacks is returned with enabled false and a reason",
    source: "wire facts C7; FAQ",
    level: "must",
    needs: { missingCapability: true },
    async run({ connect, token, survey }) {
      const answer = await shakeHands(await connect(), token, ["tools", ...survey.missing]);
      for (const name of survey.missing) {
        const entry = only(
          acceptedCaps(answer).filter(({ capability }) => capability === name),
          `entry for ${name}`,
        );
        checkEqual(entry.enabled, false, `enabled of ${name}`);
        const { reason } = asObject(entry.metadata, "metadata");
        check(typeof reason === "string" && reason !== "", `metadata.reason of ${name} should say why`);
      }
    },
  },
  {
    id: "HS-8",
    title: "if no requested capability can be granted, the handshake fails with no_caps",
    source: "wire facts C4; handshake page",
    level: "must",
    needs: { missingCapability: true },
    async run({ connect, token, survey }) {
      const peer = await connect();
      const answer = await peer.request("handshake/req", {
        agent_id: "conformance",
        agent_caps: survey.missing.slice(0, 1),
        auth_token: token,
      });
      checkEqual([answer.type, answer.ok, answer.reason], ["handshake/resp", false, "no_caps"], "answer");
      checkError(await peer.request("tool/list/req"), "unauthorized");
    },
  },
  {
    id: "HS-9",
    title: "an SDK peer never receives a capability name outside its enum",
    source: "wire facts C8",
    level: "must",
    async run({ connect, token }) {
      const asked = ["tools", "skills", "learn", "procs", "subagents", "streaming", "no_such_capability"];
      for (const dialect of [{ version: "1.0" }, {}]) {
        const answer = checkType(await shakeHandsAs(await connect(), dialect, asked, token), "handshake/resp");
        for (const { capability } of acceptedCaps(answer)) {
          check(
            sdkEnums.A2ECapability?.includes(String(capability)) ?? false,
            `"${capability}" is not in the SDK's enum`,
          );
        }
      }
    },
  },
  {
    id: "HS-10",
    title: "other spellings of capabilities are understood, and named in metadata.alias to an SDK peer",
    source: "wire facts C8",
    level: "must",
    async run({ connect, token }) {
      const spellings = { skills: "skill", learn: "learning", procs: "proc", subagents: "multi_agent" };
      const answer = await shakeHandsAs(
        await connect(),
        { version: "1.0" },
        ["tools", ...Object.keys(spellings)],
        token,
      );
      for (const [spelling, name] of Object.entries(spellings)) {
        const entry = only(
          acceptedCaps(answer).filter(({ capability }) => capability === name),
          `entry for ${name}`,
        );
        checkEqual(asObject(entry.metadata, "metadata").alias, spelling, "metadata.alias");
      }
    },
  },
  {
    id: "HS-11",
    title: "a docs peer, which sends a2e and no version, is answered in the spelling it asked in",
    source: "wire facts C8",
    level: "must",
    async run({ connect, token }) {
      const asked = ["tools", "skills", "learn", "procs", "subagents"];
      const answer = checkType(await shakeHandsAs(await connect(), { a2e: "1.0" }, asked, token), "handshake/resp");
      checkEqual(
        acceptedCaps(answer).map(({ capability }) => capability),
        asked,
        "capabilities",
      );
    },
  },
  {
    id: "HS-12",
    title: "a capability requested twice, in one spelling or two, is answered once",
    source: "wire facts C7",
    level: "must",
    async run({ connect, token }) {
      const answer = await shakeHands(await connect(), token, ["tools", "tools", "skill", "skills", "tools"]);
      const names = acceptedCaps(answer).map(({ capability }) => String(capability));
      checkEqual([...names].sort(), [...new Set(names)].sort(), "capabilities");
    },
  },
  {
    id: "HS-13",
    title: "another major version fails the handshake with version_mismatch",
    source: "wire facts C1, C4; handshake page",
    level: "must",
    async run({ connect, token }) {
      for (const dialect of [{ version: "2.0" }, { a2e: "9.9" }]) {
        const peer = await connect();
        const answer = await shakeHandsAs(peer, dialect, ["tools"], token);
        checkEqual([answer.type, answer.ok, answer.reason], ["handshake/resp", false, "version_mismatch"], "answer");
        checkError(await peer.request("tool/list/req"), "unauthorized");
      }
    },
  },
  {
    id: "HS-14",
    title: "a wrong or missing token fails the handshake with auth_failed, and nothing is served",
    source: "wire facts C3, C4",
    level: "must",
    needs: { token: true },
    async run({ connect, token }) {
      for (const auth_token of [
        "",
        `${token}x`,
        token.slice(0, -1),
        token.toUpperCase() === token ? token.toLowerCase() : token.toUpperCase(),
      ]) {
        const peer = await connect();
        const answer = await peer.request("handshake/req", {
          agent_id: "conformance",
          agent_caps: ["tools"],
          auth_token,
        });
        checkEqual(
          [answer.type, answer.ok, answer.reason],
          ["handshake/resp", false, "auth_failed"],
          `answer to token "${auth_token.length}"`,
        );
        checkEqual(acceptedCaps(answer), [], "accepted_caps");
        checkError(await peer.request("tool/list/req"), "unauthorized");
      }
    },
  },
  {
    id: "HS-15",
    title: "after a failed handshake a correct handshake succeeds",
    source: "wire facts C4, C5",
    level: "must",
    needs: { token: true },
    async run({ connect, token }) {
      const peer = await connect();
      await peer.request("handshake/req", { agent_id: "conformance", agent_caps: ["tools"], auth_token: "wrong" });
      await shakeHands(peer, token);
      checkType(await peer.request("tool/list/req"), "tool/list/resp");
    },
  },
  {
    id: "HS-16",
    title: "a token in the header Authorization counts like a token in the handshake",
    source: "wire facts C3",
    level: "must",
    transports: ["http"],
    needs: { token: true },
    async run({ connect, token, web }) {
      const peer = await connect();
      const id = peer.nextId();
      const headers = { "x-session-id": String(peer.link.sessionId), authorization: `Bearer ${token}` };
      await web().send("POST", "/send", { headers, body: peer.line("handshake/req", { id, agent_caps: ["tools"] }) });
      checkEqual((await peer.answerTo(id)).ok, true, "ok");
    },
  },
  {
    id: "HS-17",
    title: "a second handshake adds capabilities to those granted, and removes none",
    source: "wire facts C5",
    level: "extension",
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token, []);
      checkError(await peer.request("tool/list/req"), "capability_missing");
      await shakeHands(peer, token, ["tools"]);
      await shakeHands(peer, token, []);
      checkType(await peer.request("tool/list/req"), "tool/list/resp");
    },
  },
  {
    id: "HS-18",
    title: "an open session is not handed to another agent that has its id",
    source: "sessions are isolated",
    level: "should",
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const answer = await peer.request("handshake/req", {
        agent_id: "somebody else",
        agent_caps: ["tools"],
        auth_token: token,
      });
      checkEqual([answer.ok, answer.reason], [false, "auth_failed"], "answer");
    },
  },
  {
    id: "HS-19",
    title: "every capability of the protocol is either granted or declined, in every dialect",
    source: "wire facts C7, C8",
    level: "must",
    async run({ connect, token, survey }) {
      if (survey.granted.length === 0) skip("the host grants no capability");
      for (const dialect of [{ version: "1.0" }, { a2e: "1.0" }, { version: "1.0", a2e: "1.0" }]) {
        const answer = await shakeHandsAs(await connect(), dialect, [...protocolCapabilities], token);
        checkEqual(
          acceptedCaps(answer)
            .map(({ capability }) => capability)
            .sort(),
          [...protocolCapabilities].sort(),
          "capabilities",
        );
      }
    },
  },
];
