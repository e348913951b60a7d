import { isoSeconds } from "../../../src/base/clock.ts";
import type { View } from "../../store/port.ts";
import type { Workspace } from "../../world/workspaces.ts";
import type { ClusterHandlers } from "../world.ts";
import { cleanFilename, extensionOf } from "./filenames.ts";
import { type StoredObject, signedObjectUrl, storedObjects } from "./objects.ts";

export const fileHandlers = {
  "files.initialize": async ({ body }, world) => {
    const named = await Promise.all(
      body.files.map(async ({ filename, content_type }) => ({
        filename: cleanFilename(filename, await extensionOf(content_type)),
        content_type,
      })),
    );
    return world.store.transaction("files.initialize", async (tx) => {
      const files = [];
      for (const { filename, content_type } of named) {
        const object: StoredObject = {
          key: world.ids.uuid(),
          cluster_id: world.cluster.id,
          workspace_id: world.caller.workspace.id,
          purpose: "workspace-file",
          filename,
          content_type,
          created_at: world.clock.now(),
          blob: null,
        };
        tx.put(storedObjects, object);
        const { url, expiresAtMs } = await signedObjectUrl(tx, world, "PUT", object);
        files.push({
          file_id: object.key,
          filename: object.filename,
          upload_url: url,
          expires_at: isoSeconds(expiresAtMs),
        });
      }
      return { files };
    });
  },

  "files.show": ({ params }, world) =>
    world.store.transaction("files.show", async (tx) => {
      const file = (await workspaceFile(tx, world.caller.workspace, params.file_id)) ?? world.fail("not-found");
      return { signed_url: (await signedObjectUrl(tx, world, "GET", file)).url };
    }),
} satisfies ClusterHandlers;

/** A file of the workspace; undefined when it is unknown or of another one. It is known once it is initialized. */
export async function workspaceFile(
  view: View,
  workspace: Workspace,
  fileId: string,
): Promise<StoredObject | undefined> {
  const object = await view.get(storedObjects, fileId.toLowerCase());
  return object?.purpose === "workspace-file" && object.workspace_id === workspace.id ? object : undefined;
}
