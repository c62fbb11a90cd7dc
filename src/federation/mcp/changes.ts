// Notifies an MCP client when a list that it may have read has changed.
import type { Server, ServerNotifier } from "@modelcontextprotocol/server";
import { mcp } from "../../caps/mcp/protocol.ts";
import { skill } from "../../caps/skill/protocol.ts";
import { tools } from "../../caps/tools/protocol.ts";
import type { A2EClient } from "../../client/client.ts";
import { isJsonObject } from "../../protocol/json.ts";

/** For as long as the session lasts. */
export function forwardChanges(client: A2EClient, notify: ServerNotifier): void {
  client.onPush(tools.pushes.changed, () => notify.toolsChanged());
  client.onPush(skill.pushes.changed, () => {
    notify.toolsChanged();
    notify.promptsChanged();
  });
  client.onPush(mcp.pushes.serverPush, ({ method, params }) => {
    if (method === "notifications/resources/list_changed") notify.resourcesChanged();
    if (method === "notifications/prompts/list_changed") notify.promptsChanged();
    const uri = isJsonObject(params) ? params.uri : undefined;
    if (method === "notifications/resources/updated" && typeof uri === "string") notify.resourceUpdated(uri);
  });
}

/** For revisions in which a server notifies its client directly. Failures are ignored: the client has left. */
export function notifierOf(server: Server): ServerNotifier {
  const offers = server.getCapabilities();
  const ignore = () => {};
  return {
    toolsChanged: () => void server.sendToolListChanged().catch(ignore),
    promptsChanged: () => void (offers.prompts && server.sendPromptListChanged().catch(ignore)),
    resourcesChanged: () => void (offers.resources && server.sendResourceListChanged().catch(ignore)),
    resourceUpdated: (uri) => void (offers.resources && server.sendResourceUpdated({ uri }).catch(ignore)),
  };
}
