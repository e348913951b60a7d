import { createSwitch, createTextFlag, type FlagSpec, type PositionalSpec } from "../../../derive/command-spec.ts";
import {
  describeSignature,
  detectScheme,
  findScheme,
  formatAlgorithm,
  getDefaultScheme,
  getSignatureHeader,
  type WebhookScheme,
  webhookSchemes,
} from "../../../schemes/webhook-schemes.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { openInput, readInput, readText, requireFile } from "../../parse/body.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { CommandFailedError, InputRequiredError, UsageError } from "../../process/failure.ts";
import { createExample } from "../../process/shell-words.ts";
import { keyFlag, requireKey, toKeyError } from "./key.ts";
import { signBody } from "./listened-delivery.ts";
import { parseHeaders, readSavedHeaders } from "./saved-deliveries.ts";

const bodyFile = {
  name: "body",
  description: "File with the raw body, or - for standard input",
} as const satisfies PositionalSpec;

type HeadersInput = CommandInputOf<
  readonly [{ flag: "signature"; type: "text" }, { flag: "headers"; type: "text" }],
  readonly [{ name: "body" }]
>;
type SignedInput = CommandInputOf<typeof flags, readonly [typeof bodyFile]>;

const defaultScheme = getDefaultScheme();
const algorithm = formatAlgorithm(defaultScheme.format);

const flags = [
  createTextFlag("signature", "HEX", `Value of the header ${getSignatureHeader(defaultScheme)}`),
  createTextFlag("headers", "FILE", "File with the headers, one per line"),
  createTextFlag(
    "scheme",
    "NAME",
    `How the webhook is signed: by ${webhookSchemes.map(({ title }) => title).join(", or by ")}`,
    { choices: webhookSchemes.map(({ name }) => name), default: defaultScheme.name },
  ),
  keyFlag,
] as const satisfies readonly FlagSpec[];

const webhooksVerify = defineCommand({
  words: ["webhooks", "verify"],
  summary: "Verify the signature of a webhook from its raw body",
  description: `Computes ${algorithm} over the raw bytes with the base64-decoded key. The key comes from a file, from SVC_WEBHOOK_HMAC_KEY, or from the emulator of this folder. The signature comes from --signature, --headers, or the headers that svc webhooks listen --save wrote next to the body. Bodies are streamed.`,
  positionals: [bodyFile],
  flags,
  examples: [
    createExample(
      "Verify a body with its signature",
      "webhooks verify body.json --signature '9f2c…' --key-file hmac.key",
    ),
    createExample(
      "Verify a delivery saved by listen --save",
      "webhooks verify hooks/0001-CONTRACT_SIGNED.json --key-file hmac.key",
    ),
  ],
  async run(input, context) {
    const scheme = findScheme(input.flags.scheme);
    const headers = await readSignedHeaders(context, input, scheme);
    const key = await requireKey(context, input);
    const body = await openInput(context.host, input.positionals.body, "<body>");
    const verdict = await scheme.verify({ key, body, headers, nowMs: context.host.wall.now() }).catch((cause) => {
      throw toKeyError(cause);
    });
    if (verdict.ok) return context.output.showOrPrint({ valid: true }, "valid");
    const { reason } = verdict;
    throw new CommandFailedError("failed", reason, `The signature does not match: ${scheme.reasonTexts[reason]}.`, {
      hint: "The signature covers the raw bytes. Verify them unchanged.",
      ...(scheme === detectScheme(headers) && { next: formatExplainCommand(input) }),
    });
  },
});

const formatExplainCommand = ({ positionals, flags: flagValues }: SignedInput): string[] => [
  "webhooks",
  "explain",
  positionals.body,
  ...(["signature", "headers", "key-file"] as const).flatMap((name) =>
    flagValues[name] === undefined ? [] : [`--${name}`, flagValues[name]],
  ),
];

/** Reads the headers of a delivery, or the header that --signature replaces. Names are in lower case. */
export async function readSignedHeaders(
  context: Context,
  input: HeadersInput,
  scheme: WebhookScheme,
): Promise<Readonly<Record<string, string>>> {
  await requireBody(context, input);
  const signatures = input.flags.signature;
  const isSingle = scheme.headers.length === 1;
  if (signatures !== undefined && !isSingle)
    throw new UsageError(`--signature cannot be used with --scheme ${scheme.name}: it has several headers (--headers)`);
  if (signatures !== undefined) return { [getSignatureHeader(scheme).toLowerCase()]: signatures };
  const headers = await readHeaders(context, input);
  if (headers !== undefined) return headers;
  const hint =
    "headers FILE with the headers of the delivery, one NAME: VALUE per line, as written by svc webhooks listen --save.";
  if (!isSingle) throw new InputRequiredError("headers", "--headers is required", { hint: `Use --${hint}` });
  throw new InputRequiredError("signature", `--signature is required (the value of ${getSignatureHeader(scheme)})`, {
    hint: `Or use --${hint}`,
  });
}

async function requireBody({ host }: Context, { positionals: { body } }: HeadersInput): Promise<void> {
  if (body !== "-") await requireFile(host, body, "<body>");
}

async function readHeaders({ host }: Context, { flags: { headers: file }, positionals }: HeadersInput) {
  if (file !== undefined) return parseHeaders(await readText(host, file, "--headers"));
  const path = positionals.body;
  const savedHeaders = path === "-" ? {} : await readSavedHeaders(host, path);
  return Object.keys(savedHeaders).length > 0 ? savedHeaders : undefined;
}

const webhooksSign = defineCommand({
  words: ["webhooks", "sign"],
  summary: "Sign a raw body as the service signs its webhooks",
  description: `Prints the value of ${getSignatureHeader(defaultScheme)}: ${describeSignature(defaultScheme.format).replace("lower-case ", "")} of ${algorithm} over the raw bytes.`,
  positionals: [{ name: "body", description: "File with the raw body, or - for standard input" }],
  flags: [createSwitch("as-header", "Print the whole header line, for curl -H"), keyFlag],
  examples: [
    createExample("Sign your own body", "webhooks sign body.json --key-file hmac.key"),
    createExample("Print the header for curl", "webhooks sign body.json --as-header"),
  ],
  async run(input, context) {
    const key = await requireKey(context, input);
    const body = await readInput(context.host, input.positionals.body, "<body>");
    const headers = Object.entries(signBody({ key, body, id: 1, at: context.host.wall.now() }));
    const [header, signature] = headers.at(-1)!;
    const lines = input.flags["as-header"] ? headers.map(([name, value]) => `${name}: ${value}`) : [signature];
    await context.output.showOrPrint({ header, signature }, ...lines);
  },
});

export const commands: readonly Command[] = [webhooksVerify, webhooksSign];
