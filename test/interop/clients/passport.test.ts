import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { installNpmPackages } from "../../support/foreign/installation.ts";
import { createClientFolder, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { runForJson } from "../../support/foreign/program.ts";
import { startSignInEmulator } from "../../support/foreign/sign-in.ts";

const packages = ["passport@0.7.0", "passport-openidconnect@0.1.2", "express@5.1.0", "express-session@1.18.2"];
const installation = await installNpmPackages(...packages);

it("passport-openidconnect signs a user in to a web app without PKCE", { skip: installation.missing }, async (t) => {
  if (installation.missing !== undefined) return;
  const emulator = await startSignInEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "passport/server.mjs");
  await symlink(join(installation.folder, "node_modules"), join(cwd, "node_modules"));
  assert.deepEqual(await runForJson(process.execPath, ["server.mjs"], { cwd, env: getEmulatorEnvironment(emulator) }), {
    status: 200,
    body: {
      iss: emulator.routerUrl,
      profile: { id: "11", displayName: "Ada Keller", emails: [{ value: "ada@northwind.example" }] },
    },
  });
});
