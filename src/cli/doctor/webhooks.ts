import { isUsedUp } from "../../api/webhook-health/faults.ts";
import type { Context } from "../command.ts";
import { type CheckResult, warning } from "./check.ts";

/** So many are named. */
const named = 5;

/** What an emulator was told to do to requests and webhooks, which look broken then: nothing where that is nothing. */
export async function webhookFindings(context: Context): Promise<CheckResult[]> {
  const { signal } = context;
  // Where none is meant there is nothing to ask, and that it does not answer is said of the services.
  const client = await context.client("emulator").catch(() => undefined);
  if (!client) return [];
  const [{ listFaults }, { listControlWebhooks }] = await Promise.all([
    import("../../api/emulator/faults.ts"),
    import("../../api/emulator/webhooks.ts"),
  ]);
  const once = { signal, retries: 0, timeoutMs: 3_000 };
  // A token that is bound to a workspace is shown no faults.
  const [scripted, known] = await Promise.all([
    client.call(listFaults, {}, once).catch(() => []),
    client.call(listControlWebhooks, {}, once).catch(() => []),
  ]);
  const faults = scripted.filter((fault) => !isUsedUp(fault));
  const stopped = known.filter(({ status, forbidden }) => status !== "ACTIVE" || forbidden !== null);
  const findings: CheckResult[] = [];
  if (faults.length > 0) {
    const all = faults.map(({ id, direction, effect, status }) => `${id} (${direction}${told(effect ?? status)})`);
    const detail = `Active scripted faults: ${listed(all)}`;
    findings.push(warning("faults", detail, `To remove one: svc emulator fault remove ${faults[0]!.id}`));
  }
  if (stopped.length > 0) {
    const all = stopped.map(
      ({ id, status, forbidden }) =>
        `${id} (${status === "ACTIVE" && forbidden !== null ? "address not allowed" : status})`,
    );
    findings.push(warning("webhooks", `Nothing is sent to ${listed(all)}`, "To see why: svc webhooks why"));
  }
  return findings;
}

const told = (effect: string | number | undefined): string => (effect === undefined ? "" : `, ${effect}`);

const listed = (all: readonly string[]): string =>
  `${all.slice(0, named).join(", ")}${all.length > named ? ` and ${all.length - named} more` : ""}`;
