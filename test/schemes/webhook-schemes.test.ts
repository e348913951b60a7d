import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  computeSignature,
  getSignatureHeader,
  listOptionalSchemes,
  webhookSchemes,
} from "../../src/schemes/webhook-schemes.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { createDraftContract } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { startReceiver } from "../support/receiver.ts";
import { createTemporaryFolder } from "../support/store.ts";

const key = Buffer.alloc(64, 7).toString("base64");
const body = '{"activity":"CONTRACT_SIGNED"}';
const time = Date.parse("2031-01-02T03:04:05Z");

for (const scheme of webhookSchemes) {
  const signed = scheme.sign({ key, body, id: 1, at: time });
  const headers = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]));
  const verify = (text: string, signedHeaders: Readonly<Record<string, string>> = headers) =>
    scheme.verify({ key, body: [Buffer.from(text)], headers: signedHeaders, nowMs: time });

  describe(`signature scheme ${scheme.name}`, () => {
    it("sets its declared headers", () => assert.deepEqual(Object.keys(signed), scheme.headers));

    it("declares how its signature is computed", () => {
      const signature = computeSignature(scheme.format, { key: Buffer.from(key, "base64"), body, headers });
      assert.equal(signature, signed[getSignatureHeader(scheme)]);
    });

    it("accepts its own signatures and explains rejections", async () => {
      assert.deepEqual(await verify(body), { ok: true });
      const rejected = [await verify(`${body} `), await verify(body, {})];
      assert.deepEqual(rejected, [
        { ok: false, reason: "mismatch" },
        { ok: false, reason: "missing" },
      ]);
      assert.deepEqual(
        ["mismatch", "missing"].map((reason) => scheme.reasonTexts[reason]),
        ["it was signed with another key, or the bytes were changed", "the headers contain no signature"],
      );
    });

    it("signs deliveries that svc webhooks verify accepts", async (t) => {
      const { api, clock, clusters } = await startTestEmulator(t, {
        webhookSchemes: listOptionalSchemes().map(({ name }) => name),
      });
      const sink = await startReceiver(t);
      const only_for_activities = ["CONTRACT_CREATED"];
      await api("POST", "/api/v2.1/public/webhooks/", { body: { title: "Mine", url: sink.url, only_for_activities } });
      await createDraftContract(api);
      await clock.advance({ untilIdle: true });
      const [delivery] = sink.received;
      const cwd = await createTemporaryFolder(t);
      await writeFile(join(cwd, "body.json"), delivery!.body);
      const lines = scheme.headers.map((name) => `${name}: ${delivery!.headers[name.toLowerCase()]}\n`);
      await writeFile(join(cwd, "headers.txt"), lines.join(""));
      const { exit, stdout } = await runCli(
        ["webhooks", "verify", "body.json", "--headers", "headers.txt", "--scheme", scheme.name],
        { cwd, env: { SVC_WEBHOOK_HMAC_KEY: clusters[0]!.hmacKey! } },
      );
      assert.deepEqual([exit, stdout], [0, "valid\n"]);
    });
  });
}
