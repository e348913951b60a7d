import crypto, { type KeyPairKeyObjectResult, type RSAKeyPairKeyObjectOptions } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";

/**
 * A key of 2048 bits takes a fifth of a second of a processor, and most tests that sign in are the first to need one of
 * their emulator. Imported where tests start emulators, this has Node hand out in turn what was made once in this run:
 * real pairs, each unlike the seven before it, so that a key which was lost or belongs to somebody else is told.
 */
const many = 8;
const bits = 2048;
const pairs: Promise<KeyPairKeyObjectResult>[] = [];
let taken = 0;

const { generateKeyPair } = crypto;
const made = promisify(generateKeyPair) as (
  type: "rsa",
  options: RSAKeyPairKeyObjectOptions,
) => Promise<KeyPairKeyObjectResult>;

function inTurn(type: "rsa", options: RSAKeyPairKeyObjectOptions): Promise<KeyPairKeyObjectResult> {
  if (type !== "rsa" || options.modulusLength !== bits || Object.keys(options).length > 1) return made(type, options);
  const turn = taken % many;
  taken += 1;
  pairs[turn] ??= madeOnce(turn, options);
  return pairs[turn];
}

/** Reads the pair that another process of this run made for the same turn, or makes it, for others to read. */
async function madeOnce(turn: number, options: RSAKeyPairKeyObjectOptions): Promise<KeyPairKeyObjectResult> {
  const folder = process.env.SVC_TEST_COMPILED;
  if (folder === undefined) return made("rsa", options);
  const path = join(folder, `key-pair-${turn}.pem`);
  const pem = await readFile(path).catch(() => undefined);
  if (pem) return { privateKey: crypto.createPrivateKey(pem), publicKey: crypto.createPublicKey(pem) };
  const pair = await made("rsa", options);
  // Several may make one at once; nobody reads half of it.
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, pair.privateKey.export({ type: "pkcs8", format: "pem" }));
  await rename(draft, path);
  return pair;
}

/** The next pair, for what a test itself signs. */
export const keyPair = (): Promise<KeyPairKeyObjectResult> => inTurn("rsa", { modulusLength: bits });

Object.assign(crypto, {
  generateKeyPair: Object.assign(generateKeyPair.bind(crypto), { [promisify.custom]: inTurn }),
});
syncBuiltinESMExports();
