import { hostIn } from "../../base/host-name.ts";
import { succeeded } from "../deliveries/explain.ts";
import { counted } from "../format.ts";
import { type Attempt, type Delivery, isLost, type Webhook } from "../state/deliveries.ts";

/** Why it asks for somebody: what its last attempt brought, and what that means for what is to come. */
export function sentence(webhook: Webhook, own: readonly Delivery[], tried: Delivery | undefined): string {
  const { status, failure_count: failures } = webhook;
  const lost = own.filter(isLost).length;
  const lostWords = `${counted(lost, "delivery has", "deliveries have")} not arrived and ${lost === 1 ? "is" : "are"} not tried again`;
  if (status === "DISABLED_BY_USER") return "Somebody disabled it; what comes due is skipped.";
  if (isForbidden(webhook)) return `The emulator may not send to ${hostIn(webhook.url)}. ${lostWords}.`;
  if (status === "ACTIVE" && failures === 0) {
    const last = lastAttemptOf(own);
    return last && succeeded(last)
      ? `It works now, but ${lostWords}.`
      : `It is enabled, and nothing was sent to it since. ${lostWords}.`;
  }
  const last = tried?.attempts.at(-1);
  const why =
    last === undefined
      ? ""
      : last.error
        ? `${last.error.message.replace(/\.$/, "")}. `
        : `The receiver answered ${last.status}. `;
  const row = failures === 1 ? "1 attempt failed" : `${failures} attempts in a row failed`;
  if (status === "ACTIVE") return `${why}${row}; the sixth disables it.`;
  return `${why}${row}, so it is disabled and what comes due is skipped.`;
}

/** Whether it is meant to be told, and its address is not among those that webhooks may go to. */
export const isForbidden = ({ status, forbidden }: Webhook): boolean => status === "ACTIVE" && forbidden !== null;

/** What to do about it, before what was lost is sent again. */
export function todo(webhook: Webhook): string {
  if (webhook.status !== "ACTIVE") return "Mend the receiver, enable it, then send again.";
  return isForbidden(webhook)
    ? `Start the emulator with its host allowed, then send again: svc emulator start --webhook-allow ${hostIn(webhook.url)}`
    : "Mend the receiver, then send again.";
}

function lastAttemptOf(own: readonly Delivery[]): Attempt | undefined {
  let found: Attempt | undefined;
  for (const { attempts } of own) {
    const last = attempts.at(-1);
    if (last && (found === undefined || last.at > found.at)) found = last;
  }
  return found;
}
