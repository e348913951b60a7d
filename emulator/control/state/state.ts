import { toIsoMillis } from "../../../src/base/clock.ts";
import { clockState } from "../../clock/virtual-clock.ts";
import { appRows } from "../../domain/apps.ts";
import { clusterRows } from "../../domain/clusters.ts";
import { JsonPieces } from "../../http/reply.ts";
import { formatVersion } from "../../store/file/document.ts";
import { StateFormatError, type Store } from "../../store/port.ts";
import { replaceState } from "../../travel/replace-state.ts";
import type { ControlHandlers } from "../context.ts";

export const stateHandlers = {
  "state.export": (_, { store }) => new JsonPieces(store.export()),

  "state.import": async ({ body }, { store, blobs, clusters, clock, snapshots, fail }) => {
    const ownIds = clusters.map((cluster) => cluster.id);
    const importedIds = findClusterIds(body);
    if (importedIds && importedIds.join() !== ownIds.join())
      fail("foreign-clusters", { own: ownIds.join(", "), imported: importedIds.join(", ") });
    const missingCollection = permanentCollections.find((name) => getRows(body, name).length === 0);
    if (Number(body.svc_state) <= formatVersion && missingCollection)
      fail("invalid-state", { reason: `it has no ${missingCollection}` });
    await blobs.extendUnreferencedRetention();
    let importedStore: Store;
    try {
      importedStore = store.parseDocument(body);
    } catch (error) {
      if (error instanceof StateFormatError) fail("invalid-state", { reason: error.message });
      throw error;
    }
    const { backupSnapshot } = await snapshots.replace(importedStore);
    return { now: toIsoMillis(clock.now()), backup_snapshot: backupSnapshot ?? null };
  },

  "state.reset": async (_, { store, clusters, ids, instance, runner, tokens, requestLog, faults, inboxes }) => {
    const idPosition = ids.getPosition();
    const emptyStore = store.createEmptyStore();
    await emptyStore.transaction("state.reset", await instance.loadInitialState());
    const onRestored = () => {
      faults.clear();
      requestLog.rewindTo(0);
    };
    await replaceState({ store, clusters, runner, tokens }, emptyStore, {
      onRestored,
      position: { ids: ids.getPosition() },
    }).catch((cause) => {
      ids.moveTo(idPosition);
      throw cause;
    });
    for (const inbox of inboxes.values()) inbox.clear();
    return undefined;
  },
} satisfies ControlHandlers;

/** Every seed has these rows, and nothing removes them. A state without them could not serve any listener. */
const permanentCollections = [clusterRows.name, appRows.name, clockState.name];

const getRows = ({ rows }: Readonly<Record<string, unknown>>, name: string): readonly unknown[] =>
  [(rows as Readonly<Record<string, unknown>> | undefined)?.[name] ?? []].flat();

/** Returns the clusters of an exported state in seed order, or undefined if the document does not look like a state. */
function findClusterIds(document: Readonly<Record<string, unknown>>): string[] | undefined {
  const rows = getRows(document, clusterRows.name);
  return rows.length > 0 ? rows.map((row) => String((row as { id?: unknown } | null)?.id)) : undefined;
}
