import assert from "node:assert/strict";
import { it } from "node:test";
import { createClientFolder, getEmulatorEnvironment } from "../../support/foreign/journey.ts";
import { canRun, runForJson, runProgram } from "../../support/foreign/program.ts";
import { createDownloadUrl, difficultFileName, startSignInEmulator } from "../../support/foreign/sign-in.ts";

const modules = ["github.com/coreos/go-oidc/v3@v3.17.0", "golang.org/x/oauth2@v0.33.0"];
const missing = (await canRun("go", "version")) ? undefined : "There is no Go to compile the program with.";

it("x/oauth2 and go-oidc sign in by discovery, also with a device", { skip: missing }, async (t) => {
  const emulator = await startSignInEmulator(t);
  const cwd = await createClientFolder(t, emulator, import.meta.url, "go/main.go");
  await runProgram("go", ["mod", "init", "example.test/client"], { cwd });
  await runProgram("go", ["get", ...modules], { cwd });
  await runProgram("go", ["mod", "tidy"], { cwd });
  const env = { ...getEmulatorEnvironment(emulator), DOWNLOAD_URL: await createDownloadUrl(emulator) };
  assert.deepEqual(await runForJson("go", ["run", "."], { cwd, env }), {
    public: ["31", "n", "eli@fabrikam.example", "openid email"],
    confidential: ["11", "n", "ada@northwind.example", "openid email"],
    device: "eli@fabrikam.example",
    filename: [difficultFileName, true],
  });
});
