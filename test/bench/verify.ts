import { execFile } from "node:child_process";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundlePackage } from "./support/bundled.ts";
import { computeRatios, reportFigure, runAlternately, writeNote } from "./support/measure.ts";

/**
 * Compares `svc webhooks verify` of a 1 GB body in a file with `openssl dgst -sha512 -mac HMAC` of the same file: `node
 * --import tsx test/bench/verify.ts`. Both processes start in each round. The figure is wall time from start to end,
 * including the start of Node.
 */
const gigabyte = 1024 ** 3;
const rounds = 5;
const run = promisify(execFile);

const key = Buffer.alloc(64, 7);
const file = join(tmpdir(), `svc-bench-verify-${process.pid}.bin`);
const { folder, remove } = await bundlePackage();
try {
  const sparse = await open(file, "w");
  await sparse.truncate(gigabyte);
  await sparse.close();

  let signature = "";
  const openssl = async () => {
    const argv = ["dgst", "-sha512", "-mac", "HMAC", "-macopt", `hexkey:${key.toString("hex")}`, file];
    const { ms, stdout } = await runTimed("openssl", argv);
    signature = stdout.trim().split(" ").at(-1)!;
    return ms;
  };
  const svc = async () => {
    const argv = [join(folder, "bin/svc.js"), "webhooks", "verify", file, "--signature", signature];
    const { ms, stdout } = await runTimed(process.execPath, argv);
    if (stdout !== "valid\n") throw new Error(`The signature does not hold: ${stdout}`);
    return ms;
  };
  const [theirs, ours] = await runAlternately(rounds, [openssl, svc]);
  reportFigure("verifying the signature of 1 GB, against openssl dgst", computeRatios(theirs!, ours!), ">= 0.8");
  writeNote(`openssl ${formatSeconds(theirs!)}, svc ${formatSeconds(ours!)}`);
} finally {
  await rm(file, { force: true });
  await remove();
}

async function runTimed(program: string, argv: readonly string[]): Promise<{ ms: number; stdout: string }> {
  const env = { PATH: process.env.PATH, SVC_WEBHOOK_HMAC_KEY: key.toString("base64") };
  const startedAt = performance.now();
  const { stdout } = await run(program, argv, { env });
  return { ms: performance.now() - startedAt, stdout };
}

function formatSeconds(values: readonly number[]): string {
  return values.map((ms) => `${(ms / 1_000).toFixed(2)} s`).join(" ");
}
