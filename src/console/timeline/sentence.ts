import { succeeded } from "../deliveries/explain.ts";
import { counted } from "../format.ts";
import { type Attempt, type Delivery, isLost, type Webhook } from "../state/deliveries.ts";

/** Why it asks for somebody: what its last attempt brought, and what that means for what is to come. */
export function sentence(webhook: Webhook, own: readonly Delivery[], tried: Delivery | undefined): string {
  const { status, failure_count: failures } = webhook;
  const lost = own.filter(isLost).length;
  const lostWords = `${counted(lost, "delivery has", "deliveries have")} not arrived and ${lost === 1 ? "is" : "are"} not tried again`;
  if (status === "DISABLED_BY_USER") return "Somebody disabled it; what comes due is skipped.";
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

function lastAttemptOf(own: readonly Delivery[]): Attempt | undefined {
  let found: Attempt | undefined;
  for (const { attempts } of own) {
    const last = attempts.at(-1);
    if (last && (found === undefined || last.at > found.at)) found = last;
  }
  return found;
}
