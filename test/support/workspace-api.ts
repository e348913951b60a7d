import { createSender, type TestEmulator } from "./emulator.ts";

/**
 * Returns a client of the contract API with the API key of a workspace of the demo seed. Workspaces 1 and 2 belong to
 * eu-1, and 3 to us-1.
 */
export async function createWorkspaceApi(
  { control, clusters }: Pick<TestEmulator, "control" | "clusters">,
  workspaceId: number,
): Promise<TestEmulator["api"]> {
  const { body } = await control("GET", "workspaces");
  const all = body as { id: number; cluster_id: string; client_id: string; client_secret: string }[];
  const workspace = all.find(({ id }) => id === workspaceId)!;
  const cluster = clusters.find(({ id }) => id === workspace.cluster_id)!;
  return createSender(cluster.url, { "client-id": workspace.client_id, "client-secret": workspace.client_secret });
}
