import { compareContentHash, contentHashOfStream } from "../../../schemes/webhook.ts";
import { openInput, readInput } from "../../body.ts";
import type { Command, Context } from "../../command.ts";
import { CommandFailed, UsageError } from "../../failure.ts";

const reasons = {
  malformed: "the signature is not 128 lower-case hexadecimal digits",
  mismatch: "another key signed it, or the bytes were changed on the way",
} as const;

export const webhooksVerify: Command = {
  words: ["webhooks", "verify"],
  summary: "Verify the signature of a webhook from its raw body",
  description:
    "Computes HMAC-SHA512 over the bytes as they are, with the base64-decoded key. The key comes from a file or from SVC_WEBHOOK_HMAC_KEY.",
  positionals: [{ name: "body", description: "File with the raw body, or - for standard input" }],
  flags: [
    {
      flag: "signature",
      type: "text",
      placeholder: "HEX",
      required: true,
      description: "Value of the header X-SVC-WEBHOOK-CONTENT-HASH",
    },
    {
      flag: "key-file",
      type: "text",
      placeholder: "FILE",
      description: "File with the base64 key of svc webhooks hmac-key",
    },
  ],
  examples: [
    {
      title: "A saved delivery",
      argv: ["webhooks", "verify", "body.json", "--signature", "9f2c…", "--key-file", "hmac.key"],
    },
  ],
  async run(input, context) {
    const key = await hmacKey(context, input.flags["key-file"] as string | undefined);
    const body = await openInput(context.host, String(input.positionals.body), "<body>");
    const expected = await contentHashOfStream(key, body).catch((cause: unknown) => {
      throw cause instanceof TypeError
        ? new UsageError("The key is not base64; take it from svc webhooks hmac-key.")
        : cause;
    });
    const verdict = compareContentHash(String(input.flags.signature), expected);
    if (verdict.ok) {
      if (context.output.format === "table") await context.output.raw("valid\n");
      else await context.output.show({ valid: true });
      return undefined;
    }
    throw new CommandFailed("failed", verdict.reason, `The signature does not match: ${reasons[verdict.reason]}.`, {
      hint: "The raw bytes are signed: compare before any parsing or re-serialising.",
    });
  },
};

/** The base64 text of the key; never printed. */
async function hmacKey({ host }: Context, file: string | undefined): Promise<string> {
  const text =
    file === undefined ? host.env.SVC_WEBHOOK_HMAC_KEY : (await readInput(host, file, "--key-file")).toString("utf8");
  if (!text?.trim()) throw new UsageError("--key-file required, or the key in SVC_WEBHOOK_HMAC_KEY");
  return text.trim();
}
