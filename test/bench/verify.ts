import { execFile } from "node:child_process";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundled } from "./support/bundled.ts";
import { figure, inTurns, note, ratios } from "./support/measure.ts";

/**
 * `svc webhooks verify` of a body of 1 GB in a file, against `openssl dgst -sha512 -mac HMAC` over the same file:
 * `node --import tsx test/bench/verify.ts`. Both are processes started anew in each round; wall time from start to
 * end, the start of Node included.
 */
const gigabyte = 1024 ** 3;
const rounds = 5;
const run = promisify(execFile);

const key = Buffer.alloc(64, 7);
const file = join(tmpdir(), `svc-bench-verify-${process.pid}.bin`);
const { folder, remove } = await bundled();
try {
  const sparse = await open(file, "w");
  await sparse.truncate(gigabyte);
  await sparse.close();

  let signature = "";
  const openssl = async () => {
    const argv = ["dgst", "-sha512", "-mac", "HMAC", "-macopt", `hexkey:${key.toString("hex")}`, file];
    const { ms, stdout } = await timed("openssl", argv);
    signature = stdout.trim().split(" ").at(-1)!;
    return ms;
  };
  const svc = async () => {
    const argv = [join(folder, "bin/svc.js"), "webhooks", "verify", file, "--signature", signature];
    const { ms, stdout } = await timed(process.execPath, argv);
    if (stdout !== "valid\n") throw new Error(`The signature does not hold: ${stdout}`);
    return ms;
  };
  const [theirs, ours] = await inTurns(rounds, [openssl, svc]);
  figure("verifying the signature of 1 GB, against openssl dgst", ratios(theirs!, ours!), ">= 0.8");
  note(`openssl ${seconds(theirs!)}, svc ${seconds(ours!)}`);
} finally {
  await rm(file, { force: true });
  await remove();
}

async function timed(program: string, argv: readonly string[]): Promise<{ ms: number; stdout: string }> {
  const env = { PATH: process.env.PATH, SVC_WEBHOOK_HMAC_KEY: key.toString("base64") };
  const startedAt = performance.now();
  const { stdout } = await run(program, argv, { env });
  return { ms: performance.now() - startedAt, stdout };
}

function seconds(values: readonly number[]): string {
  return values.map((ms) => `${(ms / 1_000).toFixed(2)} s`).join(" ");
}
