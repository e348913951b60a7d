import { sender, type TestEmulator } from "./emulator.ts";

/** What speaks to the contract API with the API key of a workspace of the demo seed: 1 and 2 at eu-1, 3 at us-1. */
export async function apiOf(
  { ask, clusters }: Pick<TestEmulator, "ask" | "clusters">,
  workspaceId: number,
): Promise<TestEmulator["api"]> {
  const { body } = await ask("GET", "workspaces");
  const all = body as { id: number; cluster_id: string; client_id: string; client_secret: string }[];
  const workspace = all.find(({ id }) => id === workspaceId)!;
  const cluster = clusters.find(({ id }) => id === workspace.cluster_id)!;
  return sender(cluster.url, { "client-id": workspace.client_id, "client-secret": workspace.client_secret });
}
