import { contentHashHeader, contentHashOfStream } from "../../../schemes/webhook.ts";
import { defineCommand } from "../../command.ts";
import { openInput } from "../../parse/body.ts";
import { keyFlag, requireKey, toKeyError } from "./key.ts";

export const webhooksSign = defineCommand({
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
