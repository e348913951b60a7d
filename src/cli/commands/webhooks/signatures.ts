import { listWorkspaces } from "../../../api/emulator/state.ts";
import { decodeBase64 } from "../../../base/hmac.ts";
import { pluralize } from "../../../base/text.ts";
import { createSwitch, createTextFlag, type PositionalSpec } from "../../../derive/command-spec.ts";
import { type Diagnosis, diagnose } from "../../../schemes/webhook-diagnosis.ts";
import {
  computeSignature,
  describeSignature,
  detectScheme,
  findScheme,
  formatAlgorithm,
  getDefaultScheme,
  getSignatureHeader,
  getSignatureLength,
  readSignature,
  type WebhookScheme,
  webhookSchemes,
} from "../../../schemes/webhook-schemes.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { openInput, readInput, readText, requireFile } from "../../parse/body.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { pickGiven } from "../../parse/values.ts";
import { CommandFailedError, InputRequiredError, UsageError } from "../../process/failure.ts";
import { parseHeaders, readSavedHeaders } from "./saved-deliveries.ts";
import { keyFlag, requireKey, signMessage, throwKeyError } from "./signing-key.ts";

const bodyFile = {
  name: "body",
  description: "File with the raw body, or - for standard input",
} as const satisfies PositionalSpec;

type HeadersInput = CommandInputOf<
  readonly [{ flag: "signature"; type: "text" }, { flag: "headers"; type: "text" }],
  readonly [{ name: "body" }]
>;

const defaultScheme = getDefaultScheme();
const algorithm = formatAlgorithm(defaultScheme.format);

const webhooksVerify = defineCommand({
  words: ["webhooks", "verify"],
  summary: "Verify the signature of a webhook from its raw body",
  description: `Computes ${algorithm} over the raw bytes with the base64-decoded key. The key comes from a file, from SVC_WEBHOOK_HMAC_KEY, or from the emulator of this folder. The signature comes from --signature, --headers, or the headers that svc webhooks listen --save wrote next to the body. Bodies are streamed.`,
  positionals: [bodyFile],
  flags: [
    createTextFlag("signature", "HEX", `Value of the header ${getSignatureHeader(defaultScheme)}`),
    createTextFlag("headers", "FILE", "File with the headers, one per line"),
    createTextFlag(
      "scheme",
      "NAME",
      `How the webhook is signed: by ${webhookSchemes.map(({ title }) => title).join(", or by ")}`,
      { choices: webhookSchemes.map(({ name }) => name), default: "by its headers" },
    ),
    keyFlag,
  ],
  examples: [
    ["Verify a body with its signature", "webhooks verify body.json --signature '9f2c…' --key-file hmac.key"],
    ["Verify a delivery saved by listen --save", "webhooks verify hooks/0001-CONTRACT_SIGNED.json --key-file hmac.key"],
  ],
  async run(input, context) {
    const { scheme: name } = input.flags;
    const headers = await readSignedHeaders(context, input, findScheme(name));
    const scheme = name === undefined ? detectScheme(headers) : findScheme(name);
    const key = await requireKey(context, input);
    const body = await openInput(context.host, input.positionals.body, "<body>");
    const verification = scheme.verify({ key, body, headers, nowMs: context.host.wall.now() });
    const verdict = await verification.catch(throwKeyError);
    if (verdict.ok) return context.output.showOrPrint({ valid: true }, "valid");
    const { reason } = verdict;
    const sources = Object.entries(pickGiven(input.flags, ["signature", "headers", "key-file"]));
    const explainFlags = sources.flatMap(([flag, value]) => [`--${flag}`, value]);
    throw new CommandFailedError("failed", reason, `The signature is invalid: ${scheme.reasonTexts[reason]}.`, {
      hint: "The signature covers the raw bytes. Verify them unchanged.",
      ...(scheme === detectScheme(headers) && {
        next: ["webhooks", "explain", input.positionals.body, ...explainFlags],
      }),
    });
  },
});

/** Reads the headers of a delivery, or the header that --signature replaces. Names are in lower case. */
async function readSignedHeaders(
  { host }: Context,
  { flags: { signature, headers: file }, positionals: { body } }: HeadersInput,
  scheme: WebhookScheme,
): Promise<Readonly<Record<string, string>>> {
  if (body !== "-") await requireFile(host, body, "<body>");
  const isSingle = scheme.headers.length === 1;
  if (signature !== undefined && !isSingle)
    throw new UsageError(`--signature cannot be used with --scheme ${scheme.name}: it has several headers (--headers)`);
  if (signature !== undefined) return { [getSignatureHeader(scheme).toLowerCase()]: signature };
  if (file !== undefined) return parseHeaders(await readText(host, file, "--headers"));
  const savedHeaders = body === "-" ? {} : await readSavedHeaders(host, body);
  if (Object.keys(savedHeaders).length > 0) return savedHeaders;
  const hint =
    "headers FILE with the headers of the delivery, one NAME: VALUE per line, as written by svc webhooks listen --save.";
  if (!isSingle) throw new InputRequiredError("headers", "--headers is required", { hint: `Use --${hint}` });
  throw new InputRequiredError("signature", `--signature is required (the value of ${getSignatureHeader(scheme)})`, {
    hint: `Or use --${hint}`,
  });
}

const webhooksSign = defineCommand({
  words: ["webhooks", "sign"],
  summary: "Sign a raw body as the service signs its webhooks",
  description: `Prints the value of ${getSignatureHeader(defaultScheme)}: ${describeSignature(defaultScheme.format).replace("lower-case ", "")} of ${algorithm} over the raw bytes.`,
  positionals: [bodyFile],
  flags: [createSwitch("as-header", "Print the whole header line, for curl -H"), keyFlag],
  examples: [
    ["Sign your own body", "webhooks sign body.json --key-file hmac.key"],
    ["Print the header for curl", "webhooks sign body.json --as-header"],
  ],
  async run(input, context) {
    const key = await requireKey(context, input);
    const body = await readInput(context.host, input.positionals.body, "<body>");
    const headers = Object.entries(signMessage({ key, body, id: 1, at: context.host.wall.now() }));
    const [header, signature] = headers.at(-1)!;
    const lines = input.flags["as-header"] ? headers.map(([name, value]) => `${name}: ${value}`) : [signature];
    await context.output.showOrPrint({ header, signature }, ...lines);
  },
});

const webhooksExplain = defineCommand({
  words: ["webhooks", "explain"],
  summary: "Explain why the signature of a webhook does not match",
  description:
    "Tries common mistakes, alone and together: re-serialized JSON, a body in base64, UTF-16, gzip or a JSON string, a key that was not decoded, another encoding, a trimmed newline, another algorithm, and the keys of other workspaces of the emulator of this folder. Exits 0 if the signature matches, 1 if it does not.",
  positionals: [bodyFile],
  flags: [
    createTextFlag("signature", "SIGNATURE", "Signature to explain"),
    createTextFlag("headers", "FILE", "File with the headers, one per line"),
    keyFlag,
  ],
  examples: [
    [
      "Explain why your own signature differs from the header",
      "webhooks explain body.json --signature '9f2c…' --key-file hmac.key",
    ],
  ],
  async run(input, context) {
    const headers = await readSignedHeaders(context, input, defaultScheme);
    const scheme = detectScheme(headers);
    const signature = readSignature(scheme, headers);
    if (signature === undefined)
      throw new InputRequiredError(
        "signature",
        `--signature is required: the headers contain no ${getSignatureHeader(scheme)}`,
      );
    const key = await requireKey(context, input);
    const body = await readInput(context.host, input.positionals.body, "<body>");
    const ownDiagnosis = diagnose({ key, body, signature, headers }, scheme);
    const examinedDelivery = { body, headers, scheme, signature };
    const foreignKey = ownDiagnosis.explained ? undefined : await findForeignKey(examinedDelivery, context);
    const diagnosis = foreignKey ? { ...ownDiagnosis, explained: true, deviations: [foreignKey] } : ownDiagnosis;
    const message = { key, body: [body], headers, nowMs: context.host.wall.now() };
    // Receivers can reject a signature that matches, such as one with an old timestamp.
    const verdict = isExplained(diagnosis) ? await scheme.verify(message) : undefined;
    const rejection = verdict?.ok === false ? scheme.reasonTexts[verdict.reason] : undefined;
    await printDiagnosis(diagnosis, rejection, examinedDelivery, context);
    return isExplained(diagnosis) && rejection === undefined ? undefined : "failed";
  },
});

const isExplained = ({ explained, deviations }: Diagnosis): boolean => explained && deviations.length === 0;

interface ExaminedSignature {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly scheme: WebhookScheme;
  readonly signature: string;
}

/** Explains why a string is not a signature in the form of the scheme. Returns undefined for a signature. */
function findMalformation(signature: string, { format }: WebhookScheme): string | undefined {
  if (signature === "") return "it is empty";
  const foreign = /[^\w+/=-]/.exec(signature);
  if (foreign) return `"${foreign[0]}" at character ${foreign.index + 1} is not allowed`;
  return signature.length === getSignatureLength(format)
    ? undefined
    : `it has ${pluralize(signature.length, "character")}`;
}

async function printDiagnosis(
  diagnosis: Diagnosis,
  rejection: string | undefined,
  { body, scheme, signature }: ExaminedSignature,
  { output }: Context,
): Promise<void> {
  const { explained, deviations, tried } = diagnosis;
  if (!output.isText) {
    const valid = isExplained(diagnosis) && rejection === undefined;
    return output.show({ valid, explained, deviations, tried, body_bytes: body.length });
  }
  if (isExplained(diagnosis))
    return output.print(`The signature matches${rejection === undefined ? "" : `, but ${rejection}`}.`);
  if (explained) {
    const lines = deviations.map(({ text }) => `  - ${text}`);
    return output.print("The signature does not match. Causes:", ...lines);
  }
  const { prefix } = scheme.format;
  const encoded = signature.trim().slice(signature.trim().startsWith(prefix) ? prefix.length : 0);
  const malformation = findMalformation(encoded, scheme);
  const hint = malformation
    ? `It is malformed: ${malformation}. ${getSignatureHeader(scheme)} has ${describeSignature(scheme.format)} (${formatAlgorithm(scheme.format)}).`
    : body.length === 0
      ? "The body is empty. Check that no parser read it before."
      : "The key may belong to another workspace, or the content was changed. Compare the signed bytes.";
  return output.print(`The signature does not match. None of ${tried} common mistakes explains it.`, hint);
}

const singleAttempt = { retries: 0, timeoutMs: 3_000 };

/**
 * Finds the workspace of the running emulator whose key creates the signature. Returns undefined if no emulator runs or
 * this token cannot read its keys, because the signature can be explained without one.
 */
async function findForeignKey(
  { body, headers, scheme: { format }, signature }: ExaminedSignature,
  { globals, client }: Context,
): Promise<Diagnosis["deviations"][number] | undefined> {
  // Without this check, the command would start an emulator, which has signed nothing.
  if (globals.emulator) return undefined;
  const workspaces = await client("emulator")
    .then((client) => client.call(listWorkspaces, {}, singleAttempt))
    .catch(() => []);
  const signer = workspaces.find(({ hmac_key: text }) => {
    const key = decodeBase64(text);
    return key !== undefined && computeSignature(format, { key, body, headers }) === signature.trim();
  });
  return (
    signer && {
      about: "key",
      code: "key-of-another-workspace",
      text: `The body was signed with the key of workspace ${signer.id}, "${signer.name}" of ${signer.cluster_id}. To see that key, run svc emulator workspaces --json.`,
    }
  );
}

export const commands: readonly Command[] = [webhooksVerify, webhooksSign, webhooksExplain];
