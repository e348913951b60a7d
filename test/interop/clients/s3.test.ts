import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { installNpmPackages, installPythonPackages } from "../../support/foreign/installation.ts";
import { createClientFolder, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { runForJson } from "../../support/foreign/program.ts";

const boto3 = await installPythonPackages("boto3==1.44.8");
const sdk = await installNpmPackages("@aws-sdk/client-s3@3.1175.0");

it("boto3 uploads with checksums and parses the error for an invalid one", { skip: boto3.missing }, async (t) => {
  if (boto3.missing !== undefined) return;
  const emulator = await startTestEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "s3/client.py");
  assert.deepEqual(
    await runForJson(join(boto3.folder, "bin/python"), ["client.py"], { cwd, env: getEmulatorEnvironment(emulator) }),
    {
      "as it sends by itself": "agreement",
      "SHA-256": "agreement",
      "SHA-1": "agreement",
      "another MD5": "BadDigest",
      "another SHA-256": "BadDigest",
      "another CRC-32": "BadDigest",
    },
  );
});

it("AWS SDK uploads aws-chunked bodies with checksums in trailers", { skip: sdk.missing }, async (t) => {
  if (sdk.missing !== undefined) return;
  const emulator = await startTestEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "s3/client.mjs");
  assert.deepEqual(
    await runForJson(process.execPath, ["client.mjs", sdk.folder], { cwd, env: getEmulatorEnvironment(emulator) }),
    {
      "as it sends by itself": ["plain", "agreement"],
      "a stream": ["aws-chunked", "agreement"],
      "a stream with CRC-32C": ["aws-chunked", "agreement"],
      "another CRC-32": ["plain", "BadDigest"],
    },
  );
});
