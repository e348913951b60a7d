import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { receiveActivity } from "../../src/api/router/chat-b.ts";
import { contractDocument, emptyPdf } from "../../src/cli/tour/documents.ts";
import type { CommandExample } from "../../src/derive/command-spec.ts";
import { contentHash } from "../../src/schemes/webhook.ts";
import { type CliEmulator, cliEmulator } from "../support/cli/cli-emulator.ts";
import type { RunResult } from "../support/cli/run-cli.ts";
import { receiver } from "../support/receiver.ts";

const create = "contracts create --data nda.json";
const sent = [create, "contracts send T-1"];
const counterparty = "contracts counterparties create --no-is-individual --organization-name Acme";
const contact = "contracts contacts create 1 --name Jo --email jo@acme.example";
const upload = "contracts upload-review --contract-name Paper --contract-type-id 301 --file-name nda.pdf";
const paper = `${upload} --file-base64 @nda.pdf --counterparty-organization-name Acme`;
const approval = "--set approvals.0.name=x --set approvals.0.notes=x --set approvals.0.approver_user_id=12";
const keyPointer = "--set key_pointers.0.key_pointer_field_name=expiry_date --set key_pointers.0.value=2032-01-01";
const activities = "--only-for-activities CONTRACT_SIGNED --only-for-activities CONTRACT_VOIDED";
const subscribed = [create, `webhooks create --title x --url RECEIVER ${activities}`];
const told = [...subscribed, "webhooks trigger CONTRACT_SIGNED"];
const job = "router map-clients clients.csv --column id --cluster eu-1";
const staging = "config set router_url ROUTER --profile staging";
const deviceCode = "auth device-code --client-id demo-cli";

/** Names that help gives to what services make up, by the field of the answer that has the real one. */
const madeUp: Readonly<Record<string, string>> = {
  "WDJB-MJHT": "user_code",
  WDJBMJHT: "user_code",
  dc_19ab: "device_code",
  trl_5e1d: "token",
};

/** What has happened before an example, by its first words; the longest that fit count. */
const before: Readonly<Record<string, readonly string[]>> = {
  "auth device-decide": [deviceCode],
  "auth device-token": [deviceCode, "emulator device approve WDJB-MJHT"],
  "config list": [staging],
  "config remove": [staging],
  "config unset": ["config set client_secret --secret-file secret.txt"],
  "config use": [staging],
  contracts: [create],
  "contracts addresses": [counterparty],
  "contracts addresses update": [
    counterparty,
    "contracts addresses create 1 --line-one x --city-name Leeds --country-name x",
  ],
  "contracts contacts": [counterparty, contact],
  "contracts contacts update-many": [
    counterparty,
    contact,
    "contracts contacts create 1 --name Kim --email kim@acme.example",
  ],
  "contracts counterparties": [counterparty],
  "contracts intake-form": [paper],
  "contracts key-pointers update": [create, `contracts key-pointers set T-1 ${keyPointer}`],
  "contracts relate": [create, create],
  "contracts resend-email": sent,
  "contracts unmark": sent,
  "doctor --profile": [staging],
  emulator: [create],
  "emulator approve": [create, `contracts approvals create T-1 ${approval}`],
  "emulator complete-review": [paper],
  "emulator decline": sent,
  "emulator deliveries": told,
  "emulator device approve": [deviceCode],
  "emulator device deny": [deviceCode],
  "emulator fault remove": ["emulator fault add --direction outgoing --effect duplicate"],
  "emulator resume": [create, "emulator hold T-1"],
  "emulator sign": sent,
  "emulator wait-for --activity": told,
  "emulator wait-for --contract": [...sent, "emulator sign T-1"],
  "emulator webhooks": subscribed,
  intake: ["intake create --title Help --workflow-id 201"],
  "router jobs": [job],
  "router show-client": [job],
  "trial complete": ["trial signup --email ada@example.com --captcha pass"],
  "webhooks delete": subscribed,
  "webhooks re-trigger": [...told, create, "webhooks trigger CONTRACT_SIGNED --contract T-2"],
  "webhooks replay": told,
  "webhooks trigger": subscribed,
  "webhooks why": told,
};

/** The secrets of the demo's connected apps. */
const env = { SVC_BASIC_AUTH: "billing:demo-billing-password", SVC_CRM_A_CLIENT_SECRET: "demo-crm-a-secret" };

const team = { team: { id: "T-NORTHWIND" } };
const saved = "hooks/0001-CONTRACT_SIGNED";

/** What lies in the folder, where it is spoken of. */
function files({ emulator: { clusters } }: CliEmulator): Record<string, string | Buffer> {
  const { hmacKey } = clusters[0]!;
  return {
    "activity.json": JSON.stringify({ ...receiveActivity.examples[0].body, serviceUrl: "https://chat-b.example/eu" }),
    "annex.docx": "docx",
    "annex.pdf": emptyPdf(),
    "billing.secret": env.SVC_BASIC_AUTH.slice("billing:".length),
    "body.json": "{}",
    "chat-a-teams.csv": "id\nT-NORTHWIND\n",
    "chat-a.secret": "s3cret",
    "clients.csv": "id\ndemo-cli\n",
    "counterparty-tokens.csv": "id\ncounterparty-northwind\n",
    "creator-tokens.csv": "id\ncreator-northwind\n",
    "crm-a.secret": env.SVC_CRM_A_CLIENT_SECRET,
    "crm-b.secret": "demo-crm-b-secret",
    "emails.csv": "id\njo@acme.example\n",
    "envelope.json": "{}",
    "event.json": JSON.stringify({ event_type: "subscription_created", content: { customer: { id: "eu-1_1" } } }),
    "external-integrations.csv": "id\ntenant-northwind\n",
    "hmac.key": hmacKey!,
    [`${saved}.json`]: "{}",
    [`${saved}.headers`]: `x-svc-webhook-content-hash: ${contentHash(hmacKey!, Buffer.from("{}"))}\n`,
    "msa.pdf": emptyPdf(),
    "nda-2029.pdf": emptyPdf(),
    "nda-v2.pdf": emptyPdf(),
    "nda.json": JSON.stringify(contractDocument),
    "nda.pdf": emptyPdf(),
    "order-form-7.pdf": emptyPdf(),
    "payload.txt": `payload=${encodeURIComponent(JSON.stringify(team))}`,
    "prices.txt": "10 EUR",
    "secret.txt": "s3cret",
    "token.txt": "t0ken",
    "vendor-agreement.pdf": emptyPdf(),
    "workspace.csv": "kind,identifier\nemail,ada@northwind.example\n",
  };
}

/** Runs an example on an emulator of its own with the demo seed, where what it speaks of has happened; unasked. */
export async function staged(t: TestContext, { argv, stdin }: CommandExample): Promise<RunResult> {
  const stage = await cliEmulator(t);
  const { svc, cwd, emulator } = stage;
  const { url } = await receiver(t);
  const line = argv.join(" ");
  const [key = ""] = Object.keys(before)
    .filter((start) => line.startsWith(start))
    .sort((a, b) => b.length - a.length);
  const story = before[key] ?? [];
  await mkdir(join(cwd, "hooks"));
  for (const [name, content] of Object.entries(files(stage))) {
    if ([...story, line].some((one) => one.includes(name.replace(".headers", ""))))
      await writeFile(join(cwd, name), content);
  }
  if (line.includes("state.json")) await svc("emulator state export -o state.json");
  const answered: Record<string, unknown> = {};
  const real = (word: string): string => String(answered[madeUp[word] ?? ""] ?? word);
  for (const earlier of story) {
    const words = earlier.replace("RECEIVER", url).replace("ROUTER", emulator.routerUrl).split(" ");
    const result = await svc([...words.map(real), "--json"]);
    if (result.exit !== 0) return { ...result, err: `${earlier}: ${result.err}` };
    Object.assign(answered, JSON.parse(result.out || "{}"));
  }
  const own = argv.map((word) => real(word.replace("localhost:3000/hooks", url)));
  return svc(["--yes", ...own], { env, ...(stdin === undefined ? {} : { stdin }) });
}
