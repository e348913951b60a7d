import type { TestContext } from "node:test";
import type { EmulatorOptions } from "../../emulator/index.ts";
import { startTestEmulator, type TestEmulator } from "./emulator.ts";
import { type ReceivedRequest, type Receiver, startReceiver } from "./receiver.ts";

/** A router whose clusters eu-1 and us-1 are receivers of the test, which record every byte. */
export interface RoutedEmulator extends TestEmulator {
  readonly eu: Receiver;
  readonly us: Receiver;
  /** Maps identifiers like a cluster, with its key from the test's seed. */
  map(table: Table, cluster: ClusterId, identifiers: readonly string[]): Promise<void>;
  /** Returns the clusters that got requests since the last call, each with method and target. */
  listForwarded(): string[];
}

export type ClusterId = "eu-1" | "us-1";
type Table = keyof typeof bulkOperations;

export const clusterKeys = { "eu-1": "key-of-eu-1", "us-1": "key-of-us-1" } as const;

/** Path and list field of each bulk operation, with the other required fields. */
export const bulkOperations = {
  emails: { path: "/router/v1/cluster_emails/bulk", list: "email_hash_list" },
  clients: { path: "/router/v1/cluster_clients/bulk", list: "client_ids" },
  creators: { path: "/router/v1/cluster_tokens/bulk/creator", list: "tokens" },
  counterparties: { path: "/router/v1/cluster_tokens/bulk/counter_party", list: "tokens" },
  teams: { path: "/router/v1/cluster_chat_a_teams/bulk", list: "chat_a_team_id_list" },
  integrations: {
    path: "/router/v1/cluster_external_integrations/bulk",
    list: "external_id_list",
    integration_type: "CHAT_B",
  },
} as const;

/** Creates the body of a bulk request. */
export function createBulkBody(table: Table, cluster_id: string, identifiers: readonly string[]): object {
  const { path: _, list, ...rest } = bulkOperations[table];
  return { [list]: identifiers, cluster_id, ...rest };
}

interface RoutedOptions extends EmulatorOptions {
  /** Connected apps of the seed. */
  readonly apps?: object;
  readonly oauth_clients?: readonly object[];
  /** Identifiers by table and cluster, for tables without a bulk operation. */
  readonly mappings?: object;
  readonly signatories?: object;
  /** Clusters of an earlier emulator, for a restart with its state file. */
  readonly behind?: Pick<RoutedEmulator, "eu" | "us">;
}

export async function startRoutedEmulator(
  t: Pick<TestContext, "after">,
  { apps, oauth_clients, mappings, signatories, behind, ...options }: RoutedOptions = {},
): Promise<RoutedEmulator> {
  const { eu, us } = behind ?? { eu: await startReceiver(t), us: await startReceiver(t) };
  const seed = {
    clusters: [
      { id: "eu-1", label: "eu", key: clusterKeys["eu-1"], external_url: eu.url },
      { id: "us-1", label: "us", key: clusterKeys["us-1"], external_url: us.url },
    ],
    ...(apps && { apps }),
    ...(oauth_clients && { oauth_clients }),
    ...(mappings && { mappings }),
    ...(signatories && { signatories }),
  };
  const emulator = await startTestEmulator(t, { seed, ...options });
  const seenCounts = { eu: eu.received.length, us: us.received.length };
  const since = (name: "eu" | "us", all: readonly ReceivedRequest[]) => {
    const newRequests = all.slice(seenCounts[name]).map(({ method, url }) => `${name} ${method} ${url}`);
    seenCounts[name] = all.length;
    return newRequests;
  };
  return Object.assign(emulator, {
    eu,
    us,
    async map(table: Table, cluster: ClusterId, identifiers: readonly string[]) {
      const body = createBulkBody(table, cluster, identifiers);
      const response = await emulator.router("POST", bulkOperations[table].path, { body });
      if (response.status !== 200) throw new Error(`mapping ${table} answered ${response.status}`);
    },
    listForwarded: () => [...since("eu", eu.received), ...since("us", us.received)],
  });
}
