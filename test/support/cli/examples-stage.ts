import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { exampleContract } from "../../../src/api/contracts/contracts.ts";
import { importExecuted } from "../../../src/api/contracts/paper.ts";
import { examplePdf } from "../../../src/api/contracts/shapes.ts";
import { receiveActivity } from "../../../src/api/router/chat.ts";
import { exitCodeByFailure, signalCodes } from "../../../src/cli/process/exit.ts";
import type { CommandExample } from "../../../src/derive/command-spec.ts";
import { contentHash } from "../../../src/schemes/webhook.ts";
import { root } from "../../structure/repository.ts";
import { findFreePort } from "../free-port.ts";
import { startReceiver } from "../receiver.ts";
import { type CliEmulator, startCliEmulator } from "./cli-emulator.ts";
import type { CliBuild, RunOptions, RunResult } from "./run-cli.ts";

/** Returns the smallest PDF that readers open: one empty page. */
export const createEmptyPdf = (): Buffer => Buffer.from(examplePdf, "base64");

const create = "contracts create --data nda.json";
const sentContractSteps = [create, "contracts send T-1"];
const counterparty = "contracts counterparties create --no-is-individual --organization-name Acme";
const contact = "contracts contacts create 1 --name Jo --email jo@acme.example";
const upload = "contracts upload-review --contract-name Paper --contract-type-id 301 --file-name nda.pdf";
const paper = `${upload} --file-base64 @nda.pdf --counterparty-organization-name Acme`;
const approval = "--set approvals.0.name=x --set approvals.0.notes=x --set approvals.0.approver_user_id=12";
const keyPointer = "--set key_pointers.0.key_pointer_field_name=expiry_date --set key_pointers.0.value=2032-01-01";
const activities = "--only-for-activities CONTRACT_SIGNED --only-for-activities CONTRACT_VOIDED";
const webhookSteps = [create, `webhooks create --title x --url RECEIVER ${activities}`];
const triggeringCommands = [...webhookSteps, "webhooks trigger CONTRACT_SIGNED"];
const job = "router map-clients clients.csv --column id --cluster eu-1";
const staging = "config set router_url ROUTER --profile staging";
const recording = "verify record --out corpus --rate 1000";
const deviceCode = "auth device-code --client-id demo-cli";

/** Placeholder names in help, with the field of the response that has the real name. */
const madeUp: Readonly<Record<string, string>> = {
  "WDJB-MJHT": "user_code",
  WDJBMJHT: "user_code",
  dc_19ab: "device_code",
  trl_5e1d: "token",
  c0de: "code",
  st_81: "state",
  "eu-1_4af0": "state",
};

/** Commands that run before an example, by its first words. The longest match applies. */
const setupCommands: Readonly<Record<string, readonly string[]>> = {
  "auth device-decide": [deviceCode],
  "auth device-login --finish": ["auth device-login --client-id demo-cli --no-wait"],
  "auth external-redirect": ["emulator installations begin ProviderA --approve-as ada@northwind.example"],
  "auth device-token": [deviceCode, "emulator device approve WDJB-MJHT"],
  "chat-a oauth-redirect": ["emulator installations begin chat_a --approve-as T-NEW"],
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
  "contracts resend-email": sentContractSteps,
  "contracts unmark": sentContractSteps,
  "contracts user-tasks create": ["intake create --title Help --workflow-id 201"],
  "doctor --profile": [staging],
  emulator: [create],
  "emulator approve": [create, `contracts approvals create T-1 ${approval}`],
  "emulator complete-review": [paper],
  "emulator decline": sentContractSteps,
  "emulator deliveries": triggeringCommands,
  "emulator deliveries resend": [...triggeringCommands, "webhooks trigger CONTRACT_SIGNED"],
  "emulator device approve": [deviceCode],
  "emulator device deny": [deviceCode],
  "emulator fault remove": ["emulator fault add --direction outgoing --effect duplicate"],
  "emulator snapshot": ["emulator snapshot save prepared"],
  "emulator snapshot save": [],
  "emulator tokens revoke": ["emulator tokens create ci --role read"],
  "emulator workspaces remove": ["emulator workspaces create --name Team"],
  "emulator record-delivery": webhookSteps,
  "emulator resume": [create, "emulator hold T-1"],
  "emulator sign": sentContractSteps,
  "emulator unmark": sentContractSteps,
  "emulator wait-for --activity": triggeringCommands,
  "emulator wait-for --contract": [...sentContractSteps, "emulator sign T-1"],
  "emulator webhooks": webhookSteps,
  intake: ["intake create --title Help --workflow-id 201"],
  "router jobs": [job],
  "run --record": [create],
  "router jobs undo": [`${job} --results all`],
  "router show-client": [job],
  "trial complete": ["trial signup --email ada@example.com --captcha pass"],
  "openapi contracts --observed": [recording],
  "verify record": [staging],
  "verify replay": [recording],
  "verify replay corpus --against": [recording, staging],
  "verify scan": [recording],
  "webhooks delete": webhookSteps,
  "webhooks re-trigger": [...triggeringCommands, create, "webhooks trigger CONTRACT_SIGNED --contract T-2"],
  "webhooks replay": triggeringCommands,
  "webhooks trigger": webhookSteps,
  "webhooks why": triggeringCommands,
};

/** Secrets of the demo's connected apps. */
const env = { SVC_BASIC_AUTH: "billing:demo-billing-password", SVC_CRM_A_CLIENT_SECRET: "demo-crm-a-secret" };

const team = { team: { id: "T-NORTHWIND" } };
const savedDelivery = "hooks/0001-CONTRACT_SIGNED";

/** Creates the files that the examples mention. */
function createFiles({ emulator: { clusters } }: CliEmulator): Record<string, string | Buffer> {
  const { hmacKey } = clusters[0]!;
  return {
    "activity.json": JSON.stringify({ ...receiveActivity.examples[0].body, serviceUrl: "https://chat-b.example/eu" }),
    "annex.docx": "docx",
    "annex.pdf": createEmptyPdf(),
    "archived.json": JSON.stringify(importExecuted.examples[0].body),
    "billing.secret": env.SVC_BASIC_AUTH.slice("billing:".length),
    "body.json": "{}",
    "chat-a-teams.csv": "id\nT-NORTHWIND\n",
    "chat-a.secret": "s3cret",
    "clients.csv": "id\ndemo-cli\n",
    "counterparty-tokens.csv": "id\ncounterparty-northwind\n",
    "creator-tokens.csv": "id\ncreator-northwind\n",
    "crm-a.secret": env.SVC_CRM_A_CLIENT_SECRET,
    "crm-b.secret": "demo-crm-b-secret",
    "emails.csv": "email\njo@acme.example\n",
    "envelope.json": "{}",
    "event.json": JSON.stringify({ event_type: "subscription_created", content: { customer: { id: "eu-1_1" } } }),
    "external-integrations.csv": "id\ntenant-northwind\n",
    "hmac.key": hmacKey!,
    [`${savedDelivery}.json`]: "{}",
    [`${savedDelivery}.headers`]: `x-svc-webhook-content-hash: ${contentHash(hmacKey!, Buffer.from("{}"))}\n`,
    "msa.pdf": createEmptyPdf(),
    "nda-2029.pdf": createEmptyPdf(),
    "nda-v2.pdf": createEmptyPdf(),
    "nda.json": JSON.stringify(exampleContract),
    "nda.pdf": createEmptyPdf(),
    "order-form-7.pdf": createEmptyPdf(),
    "payload.txt": `payload=${encodeURIComponent(JSON.stringify(team))}`,
    "prices.txt": "10 EUR",
    "receiver.mjs": readFileSync(join(root, "docs/receivers/receiver.mjs")),
    "secret.txt": "s3cret",
    "story.yaml": "steps: [{ advance: PT1H, expect: }]",
    "sign-in.js": "",
    "token.txt": "t0ken",
    "vendor-agreement.pdf": createEmptyPdf(),
    "webhooks.ndjson": JSON.stringify({
      activity: "CONTRACT_CREATED",
      activity_data: { timestamp: "2031-01-02T03:04:05Z" },
      contract_id: 1,
    }),
    "workspace.csv": "kind,identifier\nemail,ada@northwind.example\n",
  };
}

/** Programs of a user's project, which the examples run. */
const programs = { "bin/npm": "#!/bin/sh\n", "bin/pytest": "#!/bin/sh\n", "bin/python3": "#!/bin/sh\n" };

/** Replacements for words of examples that would use remote hosts or fixed ports. */
const replacements: Readonly<Record<string, string>> = {
  "auth device-login --issuer https://id.example.com --client-id tool": "auth device-login --client-id demo-cli",
  dev: "dev --port 0",
  "emulator start --store postgres://svc@db.example/sandbox":
    "emulator start --store postgres://svc@127.0.0.1:9/sandbox",
  "emulator start": "emulator start --port 0",
  "verify proxy --to https://api.example.com --out corpus --port 8080":
    "verify proxy --to https://api.example.com --out corpus --port 0",
};

/** Commands that end background processes of an example. */
const cleanupCommands: Readonly<Record<string, string>> = {
  "emulator start --detach": "emulator stop --file .svc/emulator.json",
};

/** A command line without `svc`. */
export type Example = Pick<CommandExample, "argv" | "stdin">;

const { pending } = exitCodeByFailure;

type Svc = (line: string) => Promise<RunResult>;

/** Actions of the user in reaction to output. Endless commands print thon Ctrl-C stops them. */
const reactions: readonly { readonly reads: RegExp; react(match: string, svc: Svc, stop: () => void): unknown }[] = [
  { reads: /press Ctrl-C to stop/i, react: (_, __, stop) => stop() },
  { reads: /"type":"ready"/, react: (_, svc) => svc("webhooks trigger CONTRACT_SIGNED") },
  { reads: /waiting for EXECUTED/i, react: (_, svc) => svc("emulator sign T-1") },
  {
    reads: /\b[B-Z]{4}-[B-Z]{4}\b/,
    // If the command runs its own emulator, no other command can approve the code.
    react: async (code, svc, stop) => (await svc(`emulator device approve ${code}`)).exit === 0 || stop(),
  },
];

/** Simulates a user at the terminal who performs each action once. */
function createAttendedOptions(svc: Svc): RunOptions & { readonly hasStopped: () => boolean } {
  const remainingReactions = new Set(reactions);
  let signalled = false;
  let stop = () => {};
  const read = (text: string) => {
    for (const reaction of remainingReactions) {
      const [match] = reaction.reads.exec(text) ?? [];
      if (match === undefined) continue;
      remainingReactions.delete(reaction);
      setImmediate(() => reaction.react(match, svc, stop));
    }
  };
  return {
    onOutput: read,
    onError: read,
    onStart: ({ signal }) => {
      stop = () => {
        signalled = true;
        signal("SIGINT");
      };
      // The timeout ends an example that would otherwise run endlessly, so that the test can report it.
      setTimeout(() => signal("SIGTERM"), 60_000).unref();
    },
    hasStopped: () => signalled,
  };
}

interface ExampleResult extends RunResult {
  /** Whether Ctrl-C ended the example. */
  readonly isStopped: boolean;
}

/**
 * Runs an example on an emulator with the demo seed, after the commands that the example requires. A simulated user
 * responds to prompts, and Ctrl-C ends endless commands.
 */
async function runExample(
  t: Pick<TestContext, "after">,
  { argv, stdin }: Example,
  built: CliBuild,
): Promise<ExampleResult> {
  const cliEmulator = await startCliEmulator(t);
  const { cwd, emulator } = cliEmulator;
  const svc: CliEmulator["svc"] = (words, options) => cliEmulator.svc(words, { ...options, built });
  const { url } = await startReceiver(t);
  const address = argv.includes("--command") ? `127.0.0.1:${await findFreePort()}/hooks` : url;
  const line = argv.join(" ");
  const [key = ""] = Object.keys(setupCommands)
    .filter((start) => line.startsWith(start))
    .sort((a, b) => b.length - a.length);
  const story = setupCommands[key] ?? [];
  await mkdir(join(cwd, "hooks"));
  await mkdir(join(cwd, "bin"));
  for (const [name, content] of Object.entries(programs)) await writeFile(join(cwd, name), content, { mode: 0o755 });
  for (const [name, content] of Object.entries(createFiles(cliEmulator))) {
    if ([...story, line].some((value) => value.includes(name.replace(".headers", ""))))
      await writeFile(join(cwd, name), content);
  }
  if (line.includes("--from prepared")) await svc("emulator state export -o prepared");
  if (line.includes("state.json")) await svc("emulator state export -o state.json");
  const answered: Record<string, unknown> = {};
  const real = (word: string): string => String(answered[madeUp[word] ?? ""] ?? word);
  for (const earlier of story) {
    const words = earlier.replace("RECEIVER", url).replace("ROUTER", emulator.routerUrl).split(" ");
    const result = await svc([...words.map(real), "--json"]);
    if (![0, pending].includes(result.exit))
      return { ...result, stderr: `${earlier}: ${result.stderr}`, isStopped: false };
    Object.assign(answered, JSON.parse(result.stdout || "{}"));
  }
  const [start] = Object.keys(replacements).filter((words) => line.startsWith(words));
  const commandWords =
    start === undefined ? argv : [...replacements[start]!.split(" "), ...argv.slice(start.split(" ").length)];
  const someone = createAttendedOptions(svc);
  const result = await svc(
    ["--yes", ...commandWords.map((word) => real(word.replace("localhost:3000/hooks", address)))],
    {
      env: { ...env, PATH: [join(cwd, "bin"), process.env.PATH].join(delimiter), EDITOR: "true" },
      tty: line.endsWith("--edit"),
      ...(stdin === undefined ? {} : { stdin }),
      ...someone,
    },
  );
  const end = cleanupCommands[line];
  if (end !== undefined) await svc(end);
  return { ...result, isStopped: someone.hasStopped() };
}

/** Examples that require data that no demo has, with their exit code. */
const elsewhere: Readonly<Record<string, readonly [exit: number, starts: readonly string[]]>> = {
  "no address was printed that holds this code": [4, ["emulator console session"]],
  "no page was shown that holds this form": [4, ["emulator device-form", "emulator provider-form"]],
  "the state is kept in memory": [2, ["emulator repair"]],
  "no provider gave this code, this state or this token": [
    1,
    ["auth oauth-callback", "auth oauth-signup-callback", "oidc token", "trial oauth-"],
  ],
  "no contract has a DOCX": [1, ["contracts download-docx"]],
  "no upload has this id": [5, ["files download", "files show"]],
  "no upload has this id either": [1, ["intake create --title Review the reseller"]],
  "not everybody has signed yet": [8, ["contracts status T-1 --exit-status"]],
  "nobody has approved it yet": [8, ["auth device-login --client-id demo-cli --no-wait", "auth device-login --finish"]],
  "the receiver checks no signature": [1, ["webhooks certify --to localhost:3000/hooks --hmac-key-file"]],
  "the signature is cut short": [1, ["webhooks verify body.json", "webhooks explain"]],
  "scripts repeat the name of what they destroy": [2, ["router offboard eu-1 --client-ids"]],
  "scripts do not type secrets": [2, ["config set cluster_keys"]],
  "no job has this id": [5, ["router jobs resume job_"]],
  "nobody was invited with this token": [5, ["emulator invitations accept"]],
  "in memory nothing is kept of what was": [1, ["emulator rewind"]],
  "the page names other files": [5, ["emulator console asset"]],
  "no database listens there": [75, ["emulator start --store"]],
  "no console made this code": [4, ["emulator console session"]],
  "no machine is called so": [1, ["emulator start --store"]],
  "the emulator differs in nothing from itself": [2, ["verify replay corpus --accept"]],
  "the profile has no API key": [3, ["verify replay corpus --against"]],
  "nobody is signed in": [4, ["auth status", "auth token", "auth refresh", "oidc userinfo"]],
  "no issuer made this token": [4, ["chat-b messaging --file activity.json --token-file", "chat-b messaging --file -"]],
  "the client signs in nowhere": [1, ["auth certify --report", "auth certify --only", "auth certify -- "]],
  "nobody signed this request": [4, ["crm-b open --signed-request"]],
};

const beginnings = Object.values(elsewhere).flatMap(([exit, starts]) => starts.map((start) => ({ exit, start })));

/**
 * Runs all examples, one by one. Returns the ones with an unexpected exit code, and the unused rows of the tables
 * above.
 */
export async function runExamples(examples: readonly Example[], built: CliBuild) {
  const failures: Record<string, string> = {};
  const unused = new Set(beginnings.map(({ start }) => start));
  for (const example of examples) {
    const line = example.argv.join(" ");
    const { exit, stderr, isStopped } = await runIsolated((t) => runExample(t, example, built));
    const beginning = beginnings.find(({ start }) => line.startsWith(start));
    if (beginning) unused.delete(beginning.start);
    const expected = isStopped ? signalCodes.SIGINT : (beginning?.exit ?? 0);
    if (exit !== expected) failures[line] = `${exit} ${stderr.split("\n")[0]}`;
  }
  return { failures, unused: [...unused] };
}

/**
 * Runs work and its cleanup before the next example begins, because garbage from hundreds of emulators slows V8 down.
 */
async function runIsolated<T>(work: (t: Pick<TestContext, "after">) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  try {
    return await work({ after: (end) => void ends.push(end as () => unknown) });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
