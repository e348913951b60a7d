import assert from "node:assert/strict";
import { it } from "node:test";
import { environmentOf, workshop } from "../../support/foreign/journey.ts";
import { run, told, works } from "../../support/foreign/program.ts";
import { downloadUrl, hardName, signInWorld } from "../../support/foreign/sign-in.ts";

const modules = ["github.com/coreos/go-oidc/v3@v3.17.0", "golang.org/x/oauth2@v0.33.0"];
const missing = (await works("go", "version")) ? undefined : "There is no Go to compile the program with.";

it("x/oauth2 and go-oidc sign in by discovery, also with a device", {
  skip: missing,
}, async (t) => {
  const world = await signInWorld(t);
  const cwd = await workshop(t, world, import.meta.url, "go/main.go");
  await run("go", ["mod", "init", "example.test/client"], { cwd });
  await run("go", ["get", ...modules], { cwd });
  await run("go", ["mod", "tidy"], { cwd });
  const env = { ...environmentOf(world), DOWNLOAD_URL: await downloadUrl(world) };
  assert.deepEqual(await told("go", ["run", "."], { cwd, env }), {
    public: ["31", "n", "eli@fabrikam.example", "openid email"],
    confidential: ["11", "n", "ada@northwind.example", "openid email"],
    device: "eli@fabrikam.example",
    filename: [hardName, true],
  });
});
