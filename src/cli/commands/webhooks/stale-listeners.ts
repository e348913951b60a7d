import { connect } from "node:net";
import type { Context } from "../../command.ts";

/** How listeners name their subscriptions. */
export const listenerTitle = "svc webhooks listen";

/** A port of this machine that says nothing for so long is busy, not gone. */
const patienceMs = 500;

/**
 * Removes the subscriptions of listeners that ended without doing so, as after kill -9: they would be tried again and
 * again. Only an emulator can list them. One that still listens is left alone. Gives how many were removed.
 */
export async function removeStaleListeners(context: Context): Promise<number> {
  const [{ listControlWebhooks }, { deleteWebhook }] = await Promise.all([
    import("../../../api/emulator/webhooks.ts"),
    import("../../../api/contracts/webhooks.ts"),
  ]);
  const { signal } = context;
  // Against a real service nobody can be asked.
  const control = await context.client("emulator").catch(() => undefined);
  const all = (await control?.call(listControlWebhooks, {}, { signal, retries: 0 }).catch(() => [])) ?? [];
  const client = await context.client("contracts");
  let removed = 0;
  for (const { id, title, url } of all) {
    if (title !== listenerTitle || !(await isDead(url))) continue;
    const isOurs = await client.call(deleteWebhook, { params: { webhook_id: id } }, { signal }).then(
      () => true,
      // Of another workspace, which these credentials do not know.
      () => false,
    );
    if (isOurs) removed += 1;
  }
  return removed;
}

/** Whether nothing listens at an address of this machine; of any other one, nobody can tell. */
async function isDead(url: string): Promise<boolean> {
  const { hostname } = new URL(url);
  return (hostname === "127.0.0.1" || hostname === "localhost") && isRefused(url);
}

/** Whether connections to an address are refused. */
export function isRefused(url: string): Promise<boolean> {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || (protocol === "https:" ? 443 : 80)), timeout: patienceMs });
    const report = (refused: boolean) => {
      socket.destroy();
      resolve(refused);
    };
    socket.on("connect", () => report(false));
    socket.on("timeout", () => report(false));
    socket.on("error", (error: NodeJS.ErrnoException) => report(error.code === "ECONNREFUSED"));
  });
}
