import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { npmPackages } from "../../support/foreign/installed.ts";
import { environmentOf, workshop } from "../../support/foreign/journey.ts";
import { told } from "../../support/foreign/program.ts";
import { signInWorld } from "../../support/foreign/sign-in.ts";

const packages = ["passport@0.7.0", "passport-openidconnect@0.1.2", "express@5.1.0", "express-session@1.18.2"];
const made = await npmPackages(...packages);

it("passport-openidconnect signs a user in to a web app without PKCE", { skip: made.missing }, async (t) => {
  if (made.missing !== undefined) return;
  const world = await signInWorld(t);
  const cwd = await workshop(t, world, import.meta.url, "passport/server.mjs");
  await symlink(join(made.folder, "node_modules"), join(cwd, "node_modules"));
  assert.deepEqual(await told(process.execPath, ["server.mjs"], { cwd, env: environmentOf(world) }), {
    status: 200,
    body: {
      iss: world.routerUrl,
      profile: {
        id: "11",
        displayName: "Ada Keller",
        emails: [{ value: "ada@northwind.example" }],
      },
    },
  });
});
