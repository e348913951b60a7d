import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { installPythonPackages } from "../../support/foreign/installation.ts";
import { createClientFolder, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { runForJson } from "../../support/foreign/program.ts";
import { difficultFileName } from "../../support/foreign/sign-in.ts";

const installation = await installPythonPackages("aiohttp==3.14.5", "yarl==1.25.1");

/** Names with characters that yarl may encode differently, and the names under which they are stored. */
const names: readonly (readonly [given: string, kept: string])[] = [
  ["plain.txt", "plain.txt"],
  ["two words.txt", "two words.txt"],
  ["a+b c.txt", "a+b c.txt"],
  ["100%.txt", "100%.txt"],
  ["a%2Fb.txt", "a%2Fb.txt"],
  ["a%252Fb%20c.txt", "a%252Fb%20c.txt"],
  ["(draft) 'final' *.txt", "(draft) 'final' _.txt"],
  ["a!b~c$d&e,f;g=h@i.txt", "a!b~c$d&e,f;g=h@i.txt"],
  ["a#b?c=d.txt", "a#b_c=d.txt"],
  ["[1]{2}^`|.txt", "[1]{2}^`_.txt"],
  ["Pläne – 契約 🖋.txt", "Pläne – 契約 🖋.txt"],
  ["e\u0301.txt", "é.txt"],
  [difficultFileName, difficultFileName],
];

it("aiohttp uploads and downloads by signed URLs that yarl re-encodes", { skip: installation.missing }, async (t) => {
  if (installation.missing !== undefined) return;
  const emulator = await startTestEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "aiohttp/client.py");
  const argv = ["client.py", JSON.stringify(names.map(([filename]) => filename))];
  const expected = names.map(([filename, storedName]) => [200, `The bytes of ${filename}`, storedName]);
  assert.deepEqual(
    await runForJson(join(installation.folder, "bin/python"), argv, { cwd, env: getEmulatorEnvironment(emulator) }),
    { "as text": expected, "as it stands": expected },
  );
});
