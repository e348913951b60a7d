import crypto, { type KeyPairKeyObjectResult, type RSAKeyPairKeyObjectOptions } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";

/**
 * A key of 2048 bits takes a fifth of a second of a processor, and most tests that sign in are the first to need one of
 * their emulator. Imported where tests start emulators, this has Node hand out in turn what it made in this process:
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
  pairs[turn] ??= made(type, options);
  return pairs[turn];
}

Object.assign(crypto, {
  generateKeyPair: Object.assign(generateKeyPair.bind(crypto), { [promisify.custom]: inTurn }),
});
syncBuiltinESMExports();
