import { listWorkspaces } from "../../../api/emulator/state.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { decodeBase64 } from "../../../base/hmac.ts";
import { pluralize, trimTrailing } from "../../../base/text.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { type Diagnosis, diagnose } from "../../../schemes/webhook-diagnosis.ts";
import {
  computeSignature,
  describeSignature,
  detectScheme,
  formatAlgorithm,
  getDefaultScheme,
  getSignatureHeader,
  readSignature,
  type WebhookScheme,
} from "../../../schemes/webhook-schemes.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { readInput } from "../../parse/body.ts";
import { InputRequiredError } from "../../process/failure.ts";
import { createExample } from "../../process/shell-words.ts";
import { keyFlag, requireKey } from "./key.ts";
import { readSignedHeaders } from "./verify.ts";

const webhooksExplain = defineCommand({
  words: ["webhooks", "explain"],
  summary: "Explain why the signature of a webhook does not match",
  description:
    "Tries common mistakes, alone and together: re-serialized JSON, a body in base64, UTF-16, gzip or a JSON string, a key that was not decoded, another encoding, a trimmed newline, another algorithm, and the keys of other workspaces of the emulator of this folder. Exits 0 if the signature matches, 1 if it does not.",
  positionals: [{ name: "body", description: "File with the raw body, or - for standard input" }],
  flags: [
    createTextFlag("signature", "SIGNATURE", "Signature to explain"),
    createTextFlag("headers", "FILE", "File with the headers, one per line"),
    keyFlag,
  ],
  examples: [
    createExample(
      "Explain why your own signature differs from the header",
      "webhooks explain body.json --signature '9f2c…' --key-file hmac.key",
    ),
  ],
  async run(input, context) {
    const headers = await readSignedHeaders(context, input, getDefaultScheme());
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
    const signer = ownDiagnosis.explained ? undefined : await findSigner(examinedDelivery, context);
    const diagnosis = signer ? addSigner(signer, ownDiagnosis) : ownDiagnosis;
    await printDiagnosis(diagnosis, examinedDelivery, context);
    return isExplained(diagnosis) ? undefined : "failed";
  },
});

const addSigner = ({ id, name, cluster_id }: Signer, { tried: triedKeys }: Diagnosis): Diagnosis => ({
  explained: true,
  deviations: [
    {
      about: "key",
      code: "key-of-another-workspace",
      text: `The body was signed with the key of workspace ${id}, "${name}" of ${cluster_id}. To see that key, run svc emulator workspaces --json.`,
    },
  ],
  tried: triedKeys,
});

const isExplained = ({ explained, deviations }: Diagnosis): boolean => explained && deviations.length === 0;

interface ExaminedSignature {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly scheme: WebhookScheme;
  readonly signature: string;
}

/** Explains why a string is not a signature in any supported encoding. Returns undefined for a signature. */
function findMalformation(signature: string): string | undefined {
  if (signature === "") return "it is empty";
  const foreign = /[^\w+/=-]/.exec(signature);
  if (foreign) return `"${foreign[0]}" at character ${foreign.index + 1} is not allowed`;
  // Lengths of hexadecimal digits or base64 of a common hash.
  const lengths = [27, 28, 40, 43, 44, 64, 86, 88, 96, 128];
  return lengths.includes(signature.length) ? undefined : `it has ${pluralize(signature.length, "character")}`;
}

/** Finds the hash by the length of its result in hexadecimal digits or in base64, with or without padding. */
function findHashByLength(signature: string): { readonly digits: string; readonly hash: string } | undefined {
  const isHex = /^[0-9a-f]+$/i.test(signature);
  const hash = (isHex ? hexLengths : base64Lengths)[trimTrailing(signature, "=").length];
  const kind = isHex ? "hexadecimal digits" : "base64 characters";
  return hash === undefined ? undefined : { digits: `${signature.length} ${kind}`, hash };
}

const hexLengths: Readonly<Record<number, string>> = { 40: "SHA-1", 64: "SHA-256", 96: "SHA-384" };
const base64Lengths: Readonly<Record<number, string>> = { 27: "SHA-1", 43: "SHA-256", 64: "SHA-384" };

async function printDiagnosis(
  diagnosis: Diagnosis,
  { body, scheme, signature }: ExaminedSignature,
  { output }: Context,
): Promise<void> {
  const { explained, deviations, tried } = diagnosis;
  if (output.format !== "table") {
    return output.show({ valid: isExplained(diagnosis), explained, deviations, tried, body_bytes: body.length });
  }
  if (isExplained(diagnosis)) return output.print("The signature matches.");
  if (explained) {
    const lines = deviations.map(({ text }) => `  - ${text}`);
    return output.print("The signature does not match. Causes:", ...lines);
  }
  const expected = `${getSignatureHeader(scheme)} has ${describeSignature(scheme.format)}`;
  const malformation = findMalformation(signature.trim());
  const detectedHash = malformation === undefined ? findHashByLength(signature.trim()) : undefined;
  if (detectedHash) {
    return output.print(
      `The signature does not match. It has ${detectedHash.digits}, like ${detectedHash.hash}. ${expected} (${formatAlgorithm(scheme.format)}).`,
      `None of ${tried} common mistakes explains it, including ${detectedHash.hash} with and without this key. Check that it belongs to this webhook.`,
    );
  }
  const hint = malformation
    ? `It is malformed: ${malformation}. ${expected}.`
    : body.length === 0
      ? "The body is empty. Check that no parser read it before."
      : "The key may belong to another workspace, or the content was changed. Compare the signed bytes.";
  return output.print(`The signature does not match. None of ${tried} common mistakes explains it.`, hint);
}

type Signer = Pick<ResultOf<typeof listWorkspaces>[number], "id" | "name" | "cluster_id">;

const singleAttempt = { retries: 0, timeoutMs: 3_000 };

/**
 * Finds the workspace of the running emulator whose key creates the signature. Returns undefined if no emulator runs or
 * this token cannot read its keys, because the signature can be explained without one.
 */
async function findSigner(
  { body, headers, scheme: { format }, signature }: ExaminedSignature,
  { globals, client }: Context,
): Promise<Signer | undefined> {
  // Without this check, the command would start an emulator, which has signed nothing.
  if (globals.emulator) return undefined;
  const workspaces = await client("emulator")
    .then((client) => client.call(listWorkspaces, {}, singleAttempt))
    .catch(() => []);
  return workspaces.find(({ hmac_key: text }) => {
    const key = decodeBase64(text);
    return key !== undefined && computeSignature(format, { key, body, headers }) === signature.trim();
  });
}

export const commands: readonly Command[] = [webhooksExplain];
