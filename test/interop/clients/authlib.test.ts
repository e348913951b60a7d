import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { installPythonPackages } from "../../support/foreign/installation.ts";
import { createClientFolder, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { runForJson } from "../../support/foreign/program.ts";
import { createDownloadUrl, difficultFileName, startSignInEmulator } from "../../support/foreign/sign-in.ts";

const packages = ["authlib==1.9.9", "joserfc==1.8.0", "requests==2.32.5", "werkzeug==3.1.9"];
const installation = await installPythonPackages(...packages);

it("Authlib signs in by RFC 8414 metadata, and Werkzeug parses file names", {
  skip: installation.missing,
}, async (t) => {
  if (installation.missing !== undefined) return;
  const emulator = await startSignInEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "authlib/client.py");
  const env = { ...getEmulatorEnvironment(emulator), DOWNLOAD_URL: await createDownloadUrl(emulator) };
  assert.deepEqual(await runForJson(join(installation.folder, "bin/python"), ["client.py"], { cwd, env }), {
    public: ["31", true, "eli@fabrikam.example", "openid email"],
    confidential: ["11", true, "ada@northwind.example", "openid email"],
    device: "eli@fabrikam.example",
    request_uri: ["request_uri_not_supported"],
    filename: difficultFileName,
  });
});
