import type { TestContext } from "node:test";
import { Runner, type RunnerOptions } from "../../emulator/clock/runner.ts";
import { type ClockSettings, VirtualClock } from "../../emulator/clock/virtual-clock.ts";
import { collections } from "../../emulator/compose/state/collections.ts";
import { defaultSettings, type EmulatorSettings } from "../../emulator/domain/settings.ts";
import { Workspace, workspaces } from "../../emulator/domain/workspaces.ts";
import type { FaultInterceptor } from "../../emulator/faults/faults.ts";
import { createWebhookSender } from "../../emulator/http/outgoing/webhook-sender.ts";
import { openMemoryStore } from "../../emulator/store/memory-store.ts";
import type { Store } from "../../emulator/store/port.ts";
import { createDeliveryJobHandlers } from "../../emulator/webhooks/deliver.ts";
import { deliveries, listAttempts } from "../../emulator/webhooks/deliveries.ts";
import { emitEvent } from "../../emulator/webhooks/emit.ts";
import { type Webhook, webhookRows } from "../../emulator/webhooks/webhooks.ts";
import type { Activity } from "../../src/api/activities.ts";
import { systemWallClock, toIsoMillis, type WallClock } from "../../src/base/clock.ts";

export const initialTimeMs = Date.parse("2031-01-02T03:04:05Z");
export const toMilliseconds = (count: number): number => count * 60_000;
/** Base64 of 64 bytes. */
export const hmacKey = Buffer.alloc(64, 7).toString("base64");

export interface DeliveryFixture {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly runner: Runner;
  /** Subscribes workspace 1 to three activities by default. */
  subscribe(url: string, overrides?: Partial<Webhook>): Promise<number>;
  /** Emits activities of a contract in one transaction. */
  happen(...activities: readonly Activity[]): Promise<void>;
  /**
   * Lists all deliveries, oldest first, in short form: webhook, outcome, and attempts as `+minutes status-or-error`.
   */
  story(): Promise<readonly { webhook: number; outcome: string; attempts: readonly string[] }[]>;
  subscription(id: number): Promise<Pick<Webhook, "status" | "failure_count"> | undefined>;
  close(): Promise<void>;
}

interface PostOptions extends Pick<RunnerOptions, "limits"> {
  readonly store?: Store;
  readonly settings?: Partial<EmulatorSettings>;
  readonly clock?: ClockSettings;
  readonly wall?: WallClock;
  readonly intervene?: FaultInterceptor;
}

/** Creates the clock, the runner and the deliveries of one workspace over a new or given store, with a manual clock. */
export async function createDeliveryFixture(
  t: Pick<TestContext, "after">,
  options: PostOptions = {},
): Promise<DeliveryFixture> {
  const wall = options.wall ?? systemWallClock;
  const settings = { ...defaultSettings, ...options.settings };
  const store = options.store ?? openMemoryStore({ collections, wall });
  const clock = await VirtualClock.open(store, wall, { mode: "manual", now: initialTimeMs, ...options.clock });
  const outgoing = createWebhookSender({
    wall,
    allow: settings.webhookAllow,
    strict: settings.strict.has("receivers"),
    connectTimeoutMs: settings.webhookConnectTimeoutMs,
    responseTimeoutMs: settings.webhookResponseTimeoutMs,
  });
  await store.transaction("workspace", (tx) => tx.put(workspaces, workspace));
  const runner = new Runner({
    store,
    clock,
    wall,
    handlers: { ...createDeliveryJobHandlers({ clock, wall, settings, outgoing, intervene: options.intervene }) },
    deterministic: settings.deterministic,
    onError: (entry, error) => {
      throw new Error(`Schedule entry ${entry.id} failed`, { cause: error });
    },
    ...(options.limits && { limits: options.limits }),
  });
  let closed: Promise<void> | undefined;
  const close = async () => {
    await runner.close();
    await outgoing.close();
    await store.close();
  };
  t.after(() => (closed ??= close()));

  return {
    store,
    clock,
    runner,
    close: () => (closed ??= close()),
    subscribe: (url, overrides) =>
      store.transaction("subscribe", (tx) => {
        const id = tx.next("webhook");
        tx.put(webhookRows, { ...createWebhookRow(id, url), ...overrides });
        return id;
      }),
    happen: (...activities) =>
      store.transaction("happen", (tx) => {
        for (const activity of activities) emitEvent(tx, clock, createOccurrence(activity, clock.now()));
      }),
    story: async () =>
      store
        .list(deliveries)
        .map((delivery) => ({
          webhook: delivery.webhook_id,
          outcome: delivery.outcome,
          attempts: listAttempts(store, delivery).map(
            ({ at, status, error }) => `+${(at - initialTimeMs) / 60_000} ${status ?? error?.code}`,
          ),
        })),
    subscription: async (id) => {
      const row = store.get(webhookRows, id);
      return row && { status: row.status, failure_count: row.failure_count };
    },
  };
}

const workspace = Workspace.parse({
  id: 1,
  cluster_id: "eu-1",
  name: "Workspace",
  client_id: "id",
  client_secret: "secret",
  acting_user_id: 1,
  permissions: [],
  hmac_key: hmacKey,
  organization_types: [],
  jurisdictions: [],
});

/** Creates a webhook of workspace 1 without activities. */
export const createWebhookRow = (id: number, url: string): Webhook => ({
  id,
  url,
  workspace_id: 1,
  cluster_id: "eu-1",
  title: "A receiver",
  description: null,
  only_for_activities: ["CONTRACT_CREATED", "CONTRACT_SIGNED", "CONTRACT_EXECUTED"],
  custom_headers: {},
  status: "ACTIVE",
  failure_count: 0,
  disabled: null,
  created_by: 1,
  created_at: initialTimeMs,
});

const createOccurrence = (activity: Activity, at: number) => ({
  workspace_id: 1,
  activity,
  at,
  performed_by: { name: "Ada", email: "ada@example.com" },
  contract: {
    contract_id: 17,
    contract_title: "Lease",
    contract_type: "NDA",
    contract_type_name: "NDA",
    contract_type_id: 5,
    contract_status: "DRAFT" as const,
    contract_kind: "TEMPLATE_CONTRACT",
    business_user: { name: "Ada", email: "ada@example.com" },
    created_at: toIsoMillis(at),
  },
});
