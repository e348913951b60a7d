// Runs the command lines that it receives as messages, with an additional signature scheme at the start of the list,
// which signs every webhook. One process runs them all, because loading the command line takes most of a run.
import { createHmac } from "node:crypto";
import { type WebhookScheme, webhookSchemes } from "../../../src/schemes/webhook-schemes.ts";

const sign = (key: string, time: string | undefined, body: Uint8Array | string): string => {
  const mac = createHmac("sha256", Buffer.from(key, "base64"));
  return `mu1=${mac.update(`${time}:`).update(body).digest("base64")}`;
};

const madeUpScheme: WebhookScheme = {
  name: "made-up",
  title: "a made-up service",
  headers: ["X-Made-Up-Time", "X-Made-Up-Signature"],
  format: {
    digest: "sha256",
    encoding: "base64",
    prefix: "mu1=",
    getSignedText: (headers) => `${headers["x-made-up-time"]}:`,
  },
  sign: ({ key, body, at }) => ({ "X-Made-Up-Time": String(at), "X-Made-Up-Signature": sign(key, String(at), body) }),
  async verify({ key, body, headers }) {
    const { "x-made-up-signature": signature, "x-made-up-time": time } = headers;
    if (signature === undefined) return { ok: false, reason: "missing" };
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return signature === sign(key, time, Buffer.concat(chunks)) ? { ok: true } : { ok: false, reason: "mismatch" };
  },
  reasonTexts: { missing: "there is no made-up header", mismatch: "somebody made it up" },
};

(webhookSchemes as unknown as WebhookScheme[]).unshift(madeUpScheme);

// The command line reads the list when it is loaded.
const { runCli } = await import("./run-cli.ts");
process.on("message", async ([argv, options]: Parameters<typeof runCli>) => {
  process.send!(await runCli(argv, options));
});
