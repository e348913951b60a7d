import { lowercaseFirst } from "../../base/text.ts";
import { matchesPathPattern } from "../../base/urls.ts";
import type { listFaults } from "../emulator/faults.ts";
import type { ResultOf } from "../operation.ts";
import { describeRetrySchedule, type RetrySchedule } from "../webhook-retries.ts";
import { type Attempt, type Delivery, describeAttemptOutcome, getCausingFault, type Webhook } from "./attempts.ts";

/** A recommended action, with its command if there is one. */
export interface RemedyStep {
  readonly kind: "fault" | "allow" | "fix" | "enable" | "resend";
  readonly words: string;
  readonly command?: string;
}

/** Meaning of a failed attempt, and the advice. */
export interface Cause {
  /** Sentence about the failed attempt only, because the receiver can have been fixed since. */
  readonly meaning: string;
  readonly steps: readonly RemedyStep[];
}

const fix = (words: string, command?: string): RemedyStep => ({
  kind: "fix",
  words,
  ...(command !== undefined && { command }),
});

/**
 * Diagnoses a failed attempt. A failure from a scripted fault requires no fix of the receiver. Without a schedule, the
 * text names no delays.
 */
export function diagnoseFailedAttempt(
  attempt: Pick<Attempt, "status" | "error" | "fault" | "location">,
  schedule?: RetrySchedule,
): Cause {
  const defaultText = `Last attempt: ${lowercaseFirst(describeAttemptOutcome(attempt))}`;
  if (getCausingFault(attempt) !== undefined) return { meaning: defaultText, steps: [] };
  const { status, error, location } = attempt;
  const specific = status === null ? byError.get(error?.code ?? "") : explainStatus(status, schedule, location);
  return { meaning: defaultText, steps: [fix("Fix the receiver.")], ...specific };
}

/** The receiver may reject more than signatures, so the meaning claims no reason. */
const rejectedByReceiver: Partial<Cause> = {
  steps: [
    fix(
      "If it checks signatures, save the body and the headers of a rejected request, and diagnose the signature",
      "svc webhooks explain body.json --headers headers.txt",
    ),
    fix(
      "If the signature matches, give the receiver the key of its workspace",
      "svc emulator workspaces --json=id,name,hmac_key",
    ),
  ],
};

const statuses = new Map<number, Partial<Cause>>([
  [401, rejectedByReceiver],
  [403, rejectedByReceiver],
  [
    404,
    { meaning: "Last attempt: 404 Not Found.", steps: [fix("Fix the path of the webhook's URL, or the receiver.")] },
  ],
  [405, { meaning: "Last attempt: 405 Method Not Allowed.", steps: [fix("Accept POST requests at this path.")] }],
  [
    410,
    {
      meaning: "Last attempt: 410 Gone. It is retried like any other failure.",
      steps: [fix("Create a webhook for the new address, or delete this one.")],
    },
  ],
]);

const explainTooManyRequests = (schedule: RetrySchedule | undefined): Cause => ({
  meaning: `Last attempt: 429 Too Many Requests. Retry-After is ignored: the retry schedule is fixed${
    schedule === undefined ? "" : ` (${describeRetrySchedule(schedule)})`
  }.`,
  steps: [fix("Raise the rate limit of the receiver.")],
});

function explainStatus(
  status: number,
  schedule: RetrySchedule | undefined,
  location?: string,
): Partial<Cause> | undefined {
  const specific = status === 429 ? explainTooManyRequests(schedule) : statuses.get(status);
  if (specific) return specific;
  // 304 Not Modified has no other address.
  if (status >= 300 && status < 400 && status !== 304) {
    const target = location === undefined ? "" : `, a redirect to ${location}`;
    return {
      meaning: `Last attempt: the receiver responded ${status}${target}. Redirects are not followed.`,
      steps: [fix("Respond without a redirect, or send to its target (--forward-to, or another webhook).")],
    };
  }
  return status >= 500 ? { steps: [fix("Check the log of the receiver or its proxy.")] } : undefined;
}

const byError = new Map<string, Partial<Cause>>([
  ["response_timeout", { steps: [fix("Respond before processing the event. The service waits 60 seconds.")] }],
  ["connect_timeout", { steps: [fix("Check that the receiver is running and reachable from this machine.")] }],
  ["connection_refused", { meaning: "Last attempt: connection refused.", steps: [fix("Start the receiver.")] }],
  ["name_not_found", { steps: [fix("Fix the host name in the webhook's URL.")] }],
  ["tls_error", { steps: [fix("Fix the certificate or the TLS of the receiver, or use an http:// address.")] }],
]);

export type Fault = ResultOf<typeof listFaults>[number];

/** Returns the scripted faults that can still affect deliveries to a webhook, with their hits on these deliveries. */
export function findActiveFaults(
  { id, url, only_for_activities: wanted }: Webhook,
  faults: readonly Fault[],
  deliveries: readonly Delivery[],
): readonly Fault[] {
  const activeFaults = faults.filter(
    (fault) =>
      fault.direction === "outgoing" &&
      !isUsedUp(fault) &&
      (fault.webhook === undefined || fault.webhook === id) &&
      (fault.activity === undefined || wanted.includes(fault.activity)) &&
      (fault.path === undefined || (URL.canParse(url) && matchesPathPattern(new URL(url).pathname, fault.path))),
  );
  const applied = deliveries.flatMap(({ attempts, postponement }) => [
    postponement,
    ...attempts.map(({ fault }) => fault),
  ]);
  // A fault counts its hits over all webhooks.
  const countHits = (effect: Fault["effect"]) => applied.filter((fault) => fault?.effect === effect).length;
  return activeFaults.map((fault) => ({ ...fault, hit: Math.min(fault.hit, countHits(fault.effect)) }));
}

export const isUsedUp = ({ count, hit }: Fault): boolean => count !== undefined && hit >= count;

/** Describes a fault, such as `Scripted fault 1 affects its deliveries: tamper, 3 times so far.` */
export const describeFault = ({ id, effect, hit }: Fault): string =>
  hit === 0
    ? `Scripted fault ${id} (${effect}) has not affected its deliveries yet.`
    : `Scripted fault ${id} affects its deliveries: ${effect}, ${hit === 1 ? "once" : `${hit} times`} so far.`;

/** Returns the step that removes a fault. */
export const toFaultRemovalStep = ({ id, effect }: Fault): RemedyStep => ({
  kind: "fault",
  words: `Remove scripted fault ${id} (${effect})`,
  command: `svc emulator fault remove ${id}`,
});
