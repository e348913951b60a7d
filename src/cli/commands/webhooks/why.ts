import type { listDeliveries } from "../../../api/emulator/deliveries.ts";
import type { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import type { ResultOf } from "../../../api/operation.ts";
import type { Client } from "../../../client/client.ts";
import { type Context, command } from "../../command.ts";
import { mayAsk } from "../../context.ts";
import { CommandFailed, UsageError } from "../../failure.ts";
import { paintedState, paintedStatus } from "../../output/states.ts";
import { bold, dim, type Line, red } from "../../output/styled.ts";
import { emulatorSetting, serviceSettings } from "../../settings.ts";

type Webhook = ResultOf<typeof listControlWebhooks>[number];
type Delivery = ResultOf<typeof listDeliveries>["items"][number];

/** So many of the newest deliveries are looked at, and so many of their attempts shown. */
const looked = 500;
const shownAttempts = 12;

export const webhooksWhy = command({
  words: ["webhooks", "why"],
  summary: "Say why a webhook does not arrive: since when, what came back, what comes next",
  description:
    "Reads the deliveries of the running emulator. Without an argument it takes the one webhook that fails, or asks. Exits 1 where it fails, is disabled or nothing was delivered, 0 where the last delivery arrived.",
  positionals: [
    { name: "webhook", optional: true, description: "Its id or URL, or the id or name of a workspace that has one" },
  ],
  flags: [{ flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" }],
  examples: [
    { title: "The one that fails", argv: ["webhooks", "why"] },
    { title: "A certain one", argv: ["webhooks", "why", "1"] },
  ],
  async run({ positionals, flags }, context) {
    await refuseRealService(flags.file, context);
    const [{ listControlWebhooks }, { listDeliveries }] = await Promise.all([
      import("../../../api/emulator/webhooks.ts"),
      import("../../../api/emulator/deliveries.ts"),
    ]);
    const client = await context.client("emulator", { file: flags.file });
    const { signal, output } = context;
    const all = await client.call(listControlWebhooks, {}, { signal });
    const webhook = await chosen(positionals.webhook, all, client, context);
    const query = { webhook: webhook.id, limit: looked };
    const { items } = await client.call(listDeliveries, { query }, { signal });
    const found = findings(webhook, items);
    await output.event(found, ...lines(found));
    return found.failing ? "failed" : undefined;
  },
});

/** Before anything is asked: no service but an emulator tells of its deliveries. */
async function refuseRealService(file: string | undefined, { globals, host }: Context): Promise<void> {
  if (file !== undefined || globals.emulator) return;
  const isNamed = globals.profile !== undefined;
  if (!isNamed && globals.baseUrl === undefined && emulatorSetting(host)) return;
  const { chosenBy, isEmulatorHere, controlToken } = await serviceSettings({ globals, host });
  const isReal = chosenBy !== undefined && !isEmulatorHere && (isNamed || controlToken === undefined);
  if (!isReal) return;
  throw new CommandFailed("failed", "only_emulator", `Only an emulator knows; this is the service of ${chosenBy}.`, {
    hint: "The real service shows what became of its webhooks in its application only.",
  });
}

/** The webhook that is meant: by the argument, else the only one that fails, else the one that a person chooses. */
async function chosen(
  asked: string | undefined,
  all: readonly Webhook[],
  client: Client,
  context: Context,
): Promise<Webhook> {
  if (all.length === 0) {
    throw new CommandFailed("not-found", "no_webhook", "There are no webhooks.", { next: ["webhooks", "listen"] });
  }
  const found = asked === undefined ? all : await named(asked, all, client, context);
  const failing = found.filter((one) => one.status !== "ACTIVE" || one.failure_count > 0);
  const [only] = found.length === 1 ? found : failing.length === 1 ? failing : [];
  if (only) return only;
  if (found.length === 0) {
    throw new CommandFailed("not-found", "no_webhook", `There is no webhook "${asked}".`, { hint: offer(all) });
  }
  if (!mayAsk(context.host, context.globals)) {
    throw new UsageError("<webhook> required: there are several", {
      hint: offer(failing.length > 0 ? failing : found),
    });
  }
  const { askChoice } = await import("../../terminal/ask.ts");
  const choices = found.map((value) => ({ value, name: described(value) }));
  return askChoice("Which webhook?", choices, context.host, context.signal);
}

async function named(asked: string, all: readonly Webhook[], client: Client, { signal }: Context) {
  const exact = all.filter(({ id, url }) => String(id) === asked || url === asked);
  if (exact.length > 0) return exact;
  const { listWorkspaces } = await import("../../../api/emulator/state.ts");
  const owners = (await client.call(listWorkspaces, {}, { signal })).filter(
    ({ id, name }) => String(id) === asked || name.toLowerCase() === asked.toLowerCase(),
  );
  return all.filter(({ workspace_id }) => owners.some(({ id }) => id === workspace_id));
}

const described = ({ id, title, status, url }: Webhook): string => `${id}  ${title}  ${status}  ${url}`;
const offer = (all: readonly Webhook[]): string => `There are: ${all.map(described).join("; ")}`;

type Findings = ReturnType<typeof findings>;

/** What the deliveries say; times are virtual. The newest delivery comes first. */
function findings(webhook: Webhook, deliveries: readonly Delivery[]) {
  const attempts = deliveries
    .flatMap(({ attempts: made, id, activity, composite_id }) =>
      made.map(({ at, number, status, error }) => ({
        at,
        delivery: id,
        activity,
        composite_id,
        number,
        status,
        error,
        ok: status !== null && status >= 200 && status < 300,
      })),
    )
    .sort((a, b) => a.at.localeCompare(b.at) || a.delivery - b.delivery || a.number - b.number);
  const lastGood = attempts.findLastIndex(({ ok }) => ok);
  const failed = attempts.slice(lastGood + 1);
  const last = failed.at(-1);
  const next = deliveries.flatMap(({ next_attempt_at: at }) => at ?? []).sort()[0] ?? null;
  const skipped = deliveries.filter(({ outcome }) => outcome.startsWith("skipped_")).length;
  const { id, title, url, status, failure_count } = webhook;
  const neverReached = deliveries.some(({ outcome }) => outcome === "skipped_not_allowed");
  return {
    webhook: { id, title, url, status, failure_count, only_for_activities: webhook.only_for_activities },
    failing: status !== "ACTIVE" || failed.length > 0 || deliveries.length === 0 || neverReached,
    since: failed[0]?.at ?? null,
    last_delivered_at: attempts[lastGood]?.at ?? null,
    last_error: last ? (last.error?.message ?? `status ${last.status}`) : null,
    skipped,
    not_allowed: neverReached,
    next_attempt_at: next,
    enable: status === "ACTIVE" ? null : `svc emulator webhooks enable ${id}`,
    attempts,
  };
}

function lines(found: Findings): Line[] {
  const { webhook, since, last_delivered_at: good, last_error: error, attempts, enable, next_attempt_at: next } = found;
  const heading: Line = [
    bold(`Webhook ${webhook.id}`),
    `  ${webhook.title}  ${webhook.url}  `,
    paintedState(webhook.status),
  ];
  const omitted = attempts.length - shownAttempts;
  return [
    heading,
    "",
    ...verdict(found),
    ...(since === null ? [] : [[`Failing since ${since}: `, red(String(error))] as Line]),
    ...(good === null ? [] : [`Last delivered ${good}`]),
    ...(found.skipped === 0 ? [] : [`Passed over while it was disabled or not allowed: ${found.skipped}`]),
    ...(attempts.length === 0
      ? []
      : ["", omitted > 0 ? `The last ${shownAttempts} of ${attempts.length} attempts:` : "Attempts:"]),
    ...attempts.slice(-shownAttempts).map(attemptLine),
    ...(next === null && enable === null ? [] : [""]),
    ...(next === null ? [] : [nextLine(next, enable)]),
    ...(enable === null ? [] : [`To enable it again, once the receiver is repaired: ${enable}`]),
  ];
}

/** While it is disabled, what comes due is skipped (DECISIONS.md, C18). */
const nextLine = (at: string, enable: string | null): Line =>
  enable === null
    ? `Next attempt ${at}; now: svc emulator clock advance --next`
    : `Next attempt ${at}: skipped, unless it is enabled before`;

function verdict({ webhook, attempts, skipped, not_allowed: forbidden }: Findings): Line[] {
  if (webhook.status === "DISABLED_BY_ERROR") {
    return [`Disabled after ${webhook.failure_count} failures in a row; nothing is sent to it.`];
  }
  if (webhook.status === "DISABLED_BY_USER") return ["Disabled by a person; nothing is sent to it."];
  if (forbidden) return ["Its address is not allowed: svc emulator start --webhook-allow HOST allows it."];
  if (attempts.length > 0 || skipped > 0) return [];
  const wanted = webhook.only_for_activities.join(", ");
  return [`Nothing was sent yet: it wants ${wanted || "every activity"}, and none has happened.`];
}

const attemptLine = ({
  at,
  number,
  status,
  error,
  activity,
  composite_id: contract,
  ok,
}: Findings["attempts"][number]): Line => [
  `  ${at}  `,
  status === null ? red(error?.code ?? "no answer") : paintedStatus(status),
  `  attempt ${number}  ${activity}${contract === null ? "" : ` ${contract}`}`,
  dim(ok ? "  delivered" : ""),
];
