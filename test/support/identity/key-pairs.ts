import crypto, { type KeyPairKeyObjectResult, type RSAKeyPairKeyObjectOptions } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";

/**
 * Generating a 2048-bit key takes 200 ms of processor time, and most tests that sign in need one. Test processes that
 * import this module reuse real key pairs from this run in turn. Each pair differs from the seven before it, so that
 * mixed-up keys are detected.
 */
const poolSize = 8;
const bits = 2048;
const pairs: Promise<KeyPairKeyObjectResult>[] = [];
let requestedCount = 0;

const { generateKeyPair } = crypto;
const generateAsync = promisify(generateKeyPair) as (
  type: "rsa",
  options: RSAKeyPairKeyObjectOptions,
) => Promise<KeyPairKeyObjectResult>;

function reuseKeyPair(type: "rsa", options: RSAKeyPairKeyObjectOptions): Promise<KeyPairKeyObjectResult> {
  if (type !== "rsa" || options.modulusLength !== bits || Object.keys(options).length > 1)
    return generateAsync(type, options);
  const turn = requestedCount % poolSize;
  requestedCount += 1;
  pairs[turn] ??= loadOrGenerateKeyPair(turn, options);
  return pairs[turn];
}

/** Reads the pair that another process of this run stored for the turn, or generates and stores it. */
async function loadOrGenerateKeyPair(
  turn: number,
  options: RSAKeyPairKeyObjectOptions,
): Promise<KeyPairKeyObjectResult> {
  const folder = process.env.SVC_TEST_COMPILED;
  if (folder === undefined) return generateAsync("rsa", options);
  const path = join(folder, `key-pair-${turn}.pem`);
  const pem = await readFile(path).catch(() => undefined);
  if (pem) return { privateKey: crypto.createPrivateKey(pem), publicKey: crypto.createPublicKey(pem) };
  const pair = await generateAsync("rsa", options);
  // Several processes can generate the pair at once, so the file is renamed when it is complete.
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, pair.privateKey.export({ type: "pkcs8", format: "pem" }));
  await rename(draft, path);
  return pair;
}

/** Returns the next pair, for the test to sign with. */
export const getKeyPair = (): Promise<KeyPairKeyObjectResult> => reuseKeyPair("rsa", { modulusLength: bits });

Object.assign(crypto, {
  generateKeyPair: Object.assign(generateKeyPair.bind(crypto), { [promisify.custom]: reuseKeyPair }),
});
syncBuiltinESMExports();
