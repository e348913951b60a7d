import * as z from "zod";
import { operation } from "../operation.ts";
import { clusterId, identifiers, mapping, unmapping } from "./mapping-table.ts";

export const BulkClusterChatATeamIDRequest = z.object({
  chat_a_team_id_list: identifiers("Team ids of chat_a"),
  cluster_id: clusterId,
});

const example = { chat_a_team_id_list: ["T-NORTHWIND"], cluster_id: "eu-1" };

export const mapChatATeams = operation({
  ...mapping(BulkClusterChatATeamIDRequest, "cluster-key-or-bearer"),
  id: "chat-a-teams.map",
  summary: "Map chat_a teams to a cluster",
  path: "/router/v1/cluster_chat_a_teams/bulk",
  cli: { by: "router map-chat-a-teams" },
  examples: [{ title: "Map one team to eu-1", body: example }],
});

export const unmapChatATeams = operation({
  ...unmapping(BulkClusterChatATeamIDRequest, "cluster-key-or-bearer"),
  id: "chat-a-teams.unmap",
  summary: "Remove chat_a teams of a cluster",
  path: "/router/v1/cluster_chat_a_teams/bulk",
  cli: { by: "router unmap-chat-a-teams" },
  examples: [{ title: "Unmap one team of eu-1", body: example }],
});
