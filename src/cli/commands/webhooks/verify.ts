import type { FlagSpec, PositionalSpec } from "../../../derive/command-spec.ts";
import { contentHashHeader, contentHashOfStream } from "../../../schemes/webhook.ts";
import {
  findWebhookScheme,
  type WebhookScheme,
  webhookSchemeNames,
  webhookSchemes,
} from "../../../schemes/webhook-schemes.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { openInput, readText, requireFile } from "../../parse/body.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { CommandFailedError, InputRequiredError, UsageError } from "../../process/failure.ts";
import { keyFlag, requireKey, toKeyError } from "./key.ts";
import { parseHeaders, readSavedHeaders } from "./saved-deliveries.ts";

const bodyFile = {
  name: "body",
  description: "File with the raw body, or - for standard input",
} as const satisfies PositionalSpec;

/** svc webhooks explain accepts these, too. */
type HeadersInput = CommandInputOf<
  readonly [{ flag: "signature"; type: "text" }, { flag: "headers"; type: "text" }],
  readonly [{ name: "body" }]
>;
type SignedInput = CommandInputOf<typeof flags, readonly [typeof bodyFile]>;

const flags = [
  {
    flag: "signature",
    type: "text",
    placeholder: "HEX",
    description: `Value of the header ${contentHashHeader}`,
  },
  { flag: "headers", type: "text", placeholder: "FILE", description: "File with the headers, one per line" },
  {
    flag: "scheme",
    type: "text",
    placeholder: "NAME",
    choices: webhookSchemeNames,
    description: "How the webhook is signed: by the service, or by Standard Webhooks",
    default: webhookSchemeNames[0],
  },
  keyFlag,
] as const satisfies readonly FlagSpec[];

const webhooksVerify = defineCommand({
  words: ["webhooks", "verify"],
  summary: "Verify the signature of a webhook from its raw body",
  description:
    "Computes HMAC-SHA512 over the raw bytes with the base64-decoded key. The key comes from a file, from SVC_WEBHOOK_HMAC_KEY, or from the emulator of this folder. The signature comes from --signature, --headers, or the headers that svc webhooks listen --save wrote next to the body. Bodies are streamed.",
  positionals: [bodyFile],
  flags,
  examples: [
    {
      title: "A body with its signature",
      argv: ["webhooks", "verify", "body.json", "--signature", "9f2c…", "--key-file", "hmac.key"],
    },
    {
      title: "A delivery saved by listen --save",
      argv: ["webhooks", "verify", "hooks/0001-CONTRACT_SIGNED.json", "--key-file", "hmac.key"],
    },
  ],
  async run(input, context) {
    const scheme = findWebhookScheme(input.flags.scheme ?? webhookSchemeNames[0]!);
    const headers = await readSignedHeaders(context, input, scheme);
    const key = await requireKey(context, input);
    const body = await openInput(context.host, input.positionals.body, "<body>");
    const verdict = await scheme.verify({ key, body, headers, nowMs: context.host.wall.now() }).catch((cause) => {
      throw toKeyError(cause);
    });
    if (verdict.ok) {
      if (context.output.format === "table") await context.output.print("valid");
      else await context.output.show({ valid: true });
      return undefined;
    }
    const { reason } = verdict;
    throw new CommandFailedError("failed", reason, `The signature does not match: ${scheme.explain[reason]}.`, {
      hint: "The signature covers the raw bytes. Verify them unchanged.",
      ...(scheme === webhookSchemes[0] && { next: formatExplainCommand(input) }),
    });
  },
});

/** Formats the command line that diagnoses the same delivery. */
const formatExplainCommand = ({ positionals, flags: given }: SignedInput): string[] => [
  "webhooks",
  "explain",
  positionals.body,
  ...(["signature", "headers", "key-file"] as const).flatMap((name) =>
    given[name] === undefined ? [] : [`--${name}`, given[name]],
  ),
];

/** Reads the signature from the command line or the headers. Returns undefined if the headers have none. */
export const readSignature = async (context: Context, input: HeadersInput): Promise<string | undefined> =>
  (await readSignedHeaders(context, input, webhookSchemes[0]))[contentHashHeader.toLowerCase()];

/** Reads the headers of a delivery, or the one that --signature replaces. */
async function readSignedHeaders(
  context: Context,
  input: HeadersInput,
  { name, headers: [first, ...others] }: WebhookScheme,
): Promise<Readonly<Record<string, string>>> {
  await requireBody(context, input);
  const given = input.flags.signature;
  if (given !== undefined && others.length > 0)
    throw new UsageError(`--signature cannot be used with --scheme ${name}: it has several headers (--headers)`);
  if (given !== undefined) return { [first!.toLowerCase()]: given };
  const headers = await readHeaders(context, input);
  if (headers !== undefined) return headers;
  const hint =
    "headers FILE with the headers of the delivery, one NAME: VALUE per line, as written by svc webhooks listen --save.";
  if (others.length > 0) throw new InputRequiredError("headers", "--headers is required", { hint: `Use --${hint}` });
  throw new InputRequiredError("signature", `--signature is required (the value of ${first})`, {
    hint: `Or use --${hint}`,
  });
}

/** Requires the body before its signature, because the headers are next to it. */
async function requireBody({ host }: Context, { positionals: { body } }: HeadersInput): Promise<void> {
  if (body !== "-") await requireFile(host, body, "<body>");
}

async function readHeaders({ host }: Context, { flags: { headers: file }, positionals }: HeadersInput) {
  if (file !== undefined) return parseHeaders(await readText(host, file, "--headers"));
  const path = positionals.body;
  const saved = path === "-" ? {} : await readSavedHeaders(host, path);
  return Object.keys(saved).length > 0 ? saved : undefined;
}

const webhooksSign = defineCommand({
  words: ["webhooks", "sign"],
  summary: "Sign a raw body as the service signs its webhooks",
  description: `Prints the value of ${contentHashHeader}: 128 hexadecimal digits of HMAC-SHA512 over the raw bytes.`,
  positionals: [{ name: "body", description: "File with the raw body, or - for standard input" }],
  flags: [{ flag: "as-header", type: "switch", description: "Print the whole header line, for curl -H" }, keyFlag],
  examples: [
    { title: "Sign your own body", argv: ["webhooks", "sign", "body.json", "--key-file", "hmac.key"] },
    { title: "For curl", argv: ["webhooks", "sign", "body.json", "--as-header"] },
  ],
  async run(input, context) {
    const key = await requireKey(context, input);
    const body = await openInput(context.host, input.positionals.body, "<body>");
    const signature = await contentHashOfStream(key, body).catch((cause: unknown) => {
      throw toKeyError(cause);
    });
    const { output } = context;
    if (output.format !== "table") await output.show({ header: contentHashHeader, signature });
    else await output.print(input.flags["as-header"] ? `${contentHashHeader}: ${signature}` : signature);
    return undefined;
  },
});

export const commands: readonly Command[] = [webhooksVerify, webhooksSign];
