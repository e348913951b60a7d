import { resolve } from "node:path";
import { isHidden } from "../../../api/control-plane.ts";
import { showDelivery } from "../../../api/emulator/deliveries.ts";
import { listWorkspaces } from "../../../api/emulator/state.ts";
import { listControlWebhooks } from "../../../api/emulator/webhooks.ts";
import {
  createIntegerFlag,
  createSwitch,
  createTextFlag,
  type FlagSpec,
  type PositionalSpec,
} from "../../../derive/command-spec.ts";
import { isSchemeHeader, toLowerCaseNames } from "../../../schemes/webhook-schemes.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { openEmulatorClient } from "../../connection/target.ts";
import { green, red } from "../../output/styled.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { CommandFailedError, InputRequiredError, UsageError } from "../../process/failure.ts";
import { maskUrlSecrets } from "../../process/redact.ts";
import { readDeliveryLog } from "./delivery-log.ts";
import {
  type DeliverySendResult,
  formatPostResult,
  isSuccessfulPost,
  openDeliverySender,
  parseExtraHeaders,
  parseReceiverUrl,
} from "./forwarding.ts";
import { listSavedBodies, readDelivery, type SavedDelivery } from "./saved-deliveries.ts";
import { keyFlag, resolveKey, signMessage } from "./signing-key.ts";

interface ReplayedDelivery extends SavedDelivery {
  readonly name: string;
  readonly url: string;
}

const flags = [
  createIntegerFlag("last", "Number of deliveries to send, newest first", { min: 1 }),
  createTextFlag("from", "DIR", "Read saved deliveries from this folder"),
  createTextFlag("to", "URL", "URL of the receiver, or a port of localhost"),
  createSwitch("sign", "Sign the bodies again, for edited bodies"),
  createTextFlag("header", "NAME: VALUE", "Add a header", { repeatable: true }),
  keyFlag,
  createSwitch("dry-run", "Show what would be sent, without sending it", { short: "n" }),
  createTextFlag("file", "FILE", "State file of the running emulator"),
] as const satisfies readonly FlagSpec[];

const positionals = [
  { name: "files", description: "Files with raw bodies, or - for standard input", optional: true, variadic: true },
] as const satisfies readonly PositionalSpec[];

type ReplayInput = CommandInputOf<typeof flags, typeof positionals>;

const webhooksReplay = defineCommand({
  words: ["webhooks", "replay"],
  summary: "Send deliveries to a receiver again, byte for byte",
  description:
    "Sends files from svc webhooks listen --save, any raw body (signed again), or the last deliveries of such a folder or of the running emulator. The service does not count or log them. Exits 1 if a response is not 2xx.",
  positionals,
  flags,
  examples: [
    [
      "Send a saved delivery to a program on this machine",
      "webhooks replay hooks/0001-CONTRACT_SIGNED.json --to localhost:3000/hooks",
    ],
    ["Send the last three deliveries of the emulator again", "webhooks replay --last 3"],
  ],
  async run(input, context) {
    const to = input.flags.to === undefined ? undefined : parseReceiverUrl(input.flags.to, "--to");
    const extra = parseExtraHeaders(input.flags.header);
    const deliveries = await readDeliveries(input, to, context);
    if (input.flags["dry-run"]) {
      const rows = deliveries.map(({ name, url, body }) => {
        return { delivery: name, url: maskUrlSecrets(url), bytes: body.length };
      });
      await context.output.show(rows, { columns: ["delivery", "url", "bytes"] });
      await context.output.note("Dry run: nothing was sent");
      return undefined;
    }
    const poster = await openDeliverySender(context);
    let isEachSuccessful = true;
    for (const delivery of deliveries) {
      if (context.signal.aborted) break;
      const response = await poster.post(delivery.url, delivery, extra);
      isEachSuccessful = (await printResult(delivery, response, context)) && isEachSuccessful;
    }
    context.signal.throwIfAborted();
    return isEachSuccessful ? undefined : "failed";
  },
});

async function printResult(delivery: ReplayedDelivery, response: DeliverySendResult, { output }: Context) {
  const { name } = delivery;
  const url = maskUrlSecrets(delivery.url);
  const isSuccessful = isSuccessfulPost(response);
  const event = {
    delivery: name,
    url,
    status: "status" in response ? response.status : null,
    error: "error" in response ? response.error : null,
    duration_ms: response.duration_ms,
  };
  const styledResult = (isSuccessful ? green : red)(formatPostResult(response));
  await output.printEvent(event, `--> ${name} ${url}`, ["<-- ", styledResult]);
  return isSuccessful;
}

async function readDeliveries(input: ReplayInput, to: string | undefined, context: Context) {
  const files = input.positionals.files ?? [];
  const { last, from } = input.flags;
  if (files.length === 0 && last === undefined) throw new InputRequiredError("files", "<files> or --last is required");
  if (files.length > 0 && last !== undefined) throw new UsageError("<files> cannot be used with --last");
  if (last !== undefined && from === undefined) return readLoggedDeliveries(last, to, input, context);
  if (to === undefined) throw new InputRequiredError("to", "--to is required");
  const paths =
    last === undefined ? files : (await listSavedBodies(resolve(context.host.cwd, from!), "--from")).slice(-last);
  if (paths.length === 0)
    throw new UsageError(`--from: ${from} has no deliveries of svc webhooks listen --save or certify --keep`);
  const deliveries: ReplayedDelivery[] = [];
  let key: ReturnType<typeof resolveKey> | undefined;
  for (const [i, path] of paths.entries()) {
    const delivery = await readDelivery(context, path, "<files>");
    // The delivery is sent as saved. It is signed on request or if it has no signature.
    const isSigned = Object.keys(delivery.headers).length > 0;
    const isSent = isSigned && input.flags.sign !== true;
    if (!isSent) key ??= resolveKey(context, input);
    const headers = isSent ? delivery.headers : signDelivery(await key, delivery, i + 1, context);
    deliveries.push({ ...delivery, headers, name: path, url: to });
  }
  return deliveries;
}

function signDelivery(key: string | undefined, { body, headers }: SavedDelivery, id: number, { host }: Context) {
  if (key === undefined)
    throw new InputRequiredError("key-file", "--key-file or SVC_WEBHOOK_HMAC_KEY is required to sign the body");
  const signed = signMessage({ key, body, id, at: host.wall.now() });
  // Signatures of other schemes would not match an edited body.
  const unsigned = Object.entries(headers).filter(([name]) => !isSchemeHeader(name));
  return { "content-type": "application/json", ...Object.fromEntries(unsigned), ...toLowerCaseNames(signed) };
}

/** Reads the newest deliveries of the emulator's log. They go to their original targets by default. */
async function readLoggedDeliveries(count: number, to: string | undefined, input: ReplayInput, context: Context) {
  const client = await openEmulatorClient(input.flags.file, context);
  const items = (await readDeliveryLog(client, { max: count })).deliveries.slice(0, count);
  if (items.length === 0) throw new UsageError("--last: the emulator has no deliveries yet");
  const receivers = new Map((await client.call(listControlWebhooks)).map(({ id, url }) => [id, url]));
  // The environment has the key of one workspace, but the deliveries can belong to several.
  const givenKey = input.flags["key-file"] === undefined ? undefined : await resolveKey(context, input);
  const keys = new Map((await client.call(listWorkspaces)).map(({ id, hmac_key: key }) => [id, key]));
  if (givenKey === undefined && [...keys.values()].some(isHidden)) {
    throw new CommandFailedError(
      "forbidden",
      "secrets_hidden",
      "This token cannot read the signing keys of the emulator.",
      { hint: "Use --key-file, or request a token with the role operate from the operator of the emulator." },
    );
  }
  const deliveries: ReplayedDelivery[] = [];
  for (const { id, webhook_id, workspace_id, activity } of items.toReversed()) {
    const { request_body: text, attempts } = await client.call(showDelivery, { params: { id } });
    const url = to ?? attempts.at(-1)?.url ?? receivers.get(webhook_id);
    if (url === undefined)
      throw new InputRequiredError("to", `--to is required, because the webhook of delivery ${id} is deleted`);
    const body = Buffer.from(text);
    const key = givenKey ?? keys.get(workspace_id) ?? "";
    const headers = signDelivery(key, { body, headers: {} }, id, context);
    deliveries.push({ name: `${id} ${activity}`, url, body, headers });
  }
  return deliveries;
}

export const commands: readonly Command[] = [webhooksReplay];
