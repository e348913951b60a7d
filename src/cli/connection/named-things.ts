import { lookupTable } from "../../base/object.ts";
import type { Client } from "../../client/client.ts";
import { ServiceError } from "../../client/errors.ts";

type Query = Readonly<Record<string, unknown>>;
type QueryContext = { readonly client: Client; readonly signal: AbortSignal };

interface NamedObject {
  /** The command that lists these objects. */
  readonly list: string;
  readonly exists: (id: string, queryContext: QueryContext) => Promise<boolean>;
}

/** Filters of an emulator's lists by query parameter. */
const named = lookupTable<NamedObject>({
  webhook: {
    list: "svc webhooks list",
    async exists(wanted, { client, signal }) {
      const { listControlWebhooks } = await import("../../api/emulator/webhooks.ts");
      return (await client.call(listControlWebhooks, {}, { signal })).some(({ id }) => String(id) === wanted);
    },
  },
  contract: {
    list: "svc emulator contracts",
    async exists(id, { client, signal }) {
      const { showContract } = await import("../../api/emulator/contracts.ts");
      try {
        await client.call(showContract, { params: { id } }, { signal });
        return true;
      } catch (error) {
        if (error instanceof ServiceError && error.status === 404) return false;
        throw error;
      }
    },
  },
  cluster: {
    list: "svc emulator clusters",
    async exists(wanted, { client, signal }) {
      const { listControlClusters } = await import("../../api/emulator/clusters.ts");
      return (await client.call(listControlClusters, {}, { signal })).some(({ id }) => id === wanted);
    },
  },
  workspace: {
    list: "svc emulator workspaces",
    async exists(wanted, { client, signal }) {
      const { listWorkspaces } = await import("../../api/emulator/state.ts");
      return (await client.call(listWorkspaces, {}, { signal })).some(({ id }) => String(id) === wanted);
    },
  },
});

/** Creates the message about the first object in a query that the emulator does not have. */
export async function findUnknownName(query: Query, queryContext: QueryContext): Promise<string | undefined> {
  for (const [name, value] of Object.entries(query)) {
    const thing = named[name];
    if (thing === undefined || value === undefined || (await thing.exists(String(value), queryContext))) continue;
    return `${name[0]!.toUpperCase()}${name.slice(1)} ${value} not found. To list them: ${thing.list}`;
  }
  return undefined;
}
