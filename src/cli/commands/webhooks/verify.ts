import type { FlagSpec, PositionalSpec } from "../../../derive/command-spec.ts";
import { contentHashHeader } from "../../../schemes/webhook.ts";
import { type CommandInputOf, type Context, defineCommand } from "../../command.ts";
import { CommandFailedError, InputRequiredError } from "../../failure.ts";
import { openInput, readInput, readText, requireFile } from "../../parse/body.ts";
import { keyFlag, requireKey, toKeyError } from "./key.ts";
import { parseHeaders, readSavedHeaders } from "./saved-deliveries.ts";

const reasons = {
  missing: "the headers hold no signature",
  malformed: "the signature is not 128 lower-case hexadecimal digits",
  mismatch: "it was signed with another key, or the bytes were changed",
  stale: "its timestamp differs from the current time by more than 5 minutes",
} as const;

const bodyFile = {
  name: "body",
  description: "File with the raw body, or - for standard input",
} as const satisfies PositionalSpec;

/** What svc webhooks explain takes as well. */
type HeadedInput = CommandInputOf<
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
    flag: "standard-webhooks",
    type: "switch",
    description: "Verify the Standard Webhooks headers instead",
  },
  keyFlag,
] as const satisfies readonly FlagSpec[];

export const webhooksVerify = defineCommand({
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
    const reason = await (input.flags["standard-webhooks"] ? standardReason : reasonAgainst)(context, input);
    if (reason === undefined) {
      if (context.output.format === "table") await context.output.print("valid");
      else await context.output.show({ valid: true });
      return undefined;
    }
    throw new CommandFailedError("failed", reason, `The signature does not match: ${reasons[reason]}.`, {
      hint: "The signature covers the raw bytes. Verify them unchanged.",
      ...(input.flags["standard-webhooks"] ? {} : { next: explaining(input) }),
    });
  },
});

/** The command line that looks for the mistake in the same delivery. */
const explaining = ({ positionals, flags: given }: SignedInput): string[] => [
  "webhooks",
  "explain",
  positionals.body,
  ...(["signature", "headers", "key-file"] as const).flatMap((name) =>
    given[name] === undefined ? [] : [`--${name}`, given[name]],
  ),
];

type Reason = keyof typeof reasons;

/** What speaks against the delivery by the service's own scheme; undefined: nothing. */
async function reasonAgainst(context: Context, input: SignedInput): Promise<Reason | undefined> {
  const { compareContentHash, contentHashOfStream } = await import("../../../schemes/webhook.ts");
  const signature = await readSignature(context, input);
  const key = await requireKey(context, input);
  if (signature === undefined) return "missing";
  const body = await openInput(context.host, input.positionals.body, "<body>");
  const expected = await contentHashOfStream(key, body).catch((cause: unknown) => {
    throw toKeyError(cause);
  });
  const verdict = compareContentHash(signature, expected);
  return verdict.ok ? undefined : verdict.reason;
}

/** What speaks against it by Standard Webhooks. */
async function standardReason(context: Context, input: SignedInput): Promise<Reason | undefined> {
  const { verifyStandardWebhook } = await import("../../../schemes/standard-webhooks.ts");
  const { host } = context;
  await bodyIsThere(context, input);
  const secret = await requireKey(context, input);
  const headers = (await headersOf(context, input)) ?? {};
  const body = await readInput(host, input.positionals.body, "<body>");
  try {
    const verdict = verifyStandardWebhook({ ...headers, secret, body, nowMs: host.wall.now() });
    return verdict.ok ? undefined : verdict.reason;
  } catch (cause) {
    throw toKeyError(cause);
  }
}

/** The signature of the command line, or of headers; undefined when the headers hold none. */
export async function readSignature(context: Context, input: HeadedInput): Promise<string | undefined> {
  await bodyIsThere(context, input);
  const given = input.flags.signature;
  if (given !== undefined) return given;
  const headers = await headersOf(context, input);
  if (headers === undefined) {
    throw new InputRequiredError("signature", `--signature is required (the value of ${contentHashHeader})`, {
      hint: "Or use --headers FILE with the headers of the delivery, one NAME: VALUE per line, as written by svc webhooks listen --save.",
    });
  }
  return headers[contentHashHeader.toLowerCase()];
}

/** Before anything is said of its signature: its headers are looked for beside it. */
async function bodyIsThere({ host }: Context, { positionals: { body } }: HeadedInput): Promise<void> {
  if (body !== "-") await requireFile(host, body, "<body>");
}

async function headersOf({ host }: Context, { flags: { headers: file }, positionals }: HeadedInput) {
  if (file !== undefined) return parseHeaders(await readText(host, file, "--headers"));
  const path = positionals.body;
  const saved = path === "-" ? {} : await readSavedHeaders(host, path);
  return Object.keys(saved).length > 0 ? saved : undefined;
}
