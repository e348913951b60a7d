import type { Fail } from "../../src/api/failures.ts";
import { isoMillis } from "../../src/base/clock.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import { forbiddenUrl } from "../http/outgoing/receivers.ts";
import type { Store } from "../store/port.ts";
import { type Subscription, subscriptions, switchSubscription } from "../webhooks/subscriptions.ts";
import { receiverRules, type Settings } from "../world/settings.ts";
import { type Workspace, workspaces } from "../world/workspaces.ts";
import { resendAll } from "./resends.ts";
import type { ControlHandlers } from "./world.ts";

export const controlWebhookHandlers = {
  "emulator-webhooks.list": (_, { store, settings }) =>
    store.read(async (view) => {
      const rows = await view.list(subscriptions);
      const owners = await view.getAll(workspaces, rows, ({ workspace_id }) => workspace_id);
      return rows.map((one, i) => webhookRecord(one, owners[i], settings));
    }),

  "emulator-webhooks.enable": ({ params }, call) => switched(call, params.id, true),

  "emulator-webhooks.disable": ({ params }, call) => switched(call, params.id, false),

  "emulator-webhooks.resend": ({ params }, call) => resendAll(params.id, call),
} satisfies ControlHandlers;

interface Call {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly settings: Settings;
  readonly fail: Fail<"no-such-webhook">;
}

const switched = ({ store, clock, settings, fail }: Call, id: number, on: boolean) =>
  store.transaction(on ? "emulator-webhooks.enable" : "emulator-webhooks.disable", async (tx) => {
    const row = (await switchSubscription(tx, id, on, clock.now())) ?? fail("no-such-webhook", { id });
    return webhookRecord(row, await tx.get(workspaces, row.workspace_id), settings);
  });

function webhookRecord(
  { created_at, disabled, custom_headers, description: _, created_by: __, ...rest }: Subscription,
  owner: Workspace | undefined,
  settings: Settings,
) {
  return {
    ...rest,
    workspace: owner?.name ?? "",
    custom_headers: Object.keys(custom_headers),
    disabled_at: disabled && isoMillis(disabled.at),
    disabled_by: disabled?.by ?? null,
    forbidden: forbiddenUrl(rest.url, receiverRules(settings))?.message ?? null,
    created_at: isoMillis(created_at),
  };
}
