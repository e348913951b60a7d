import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tsImport } from "tsx/esm/api";
import { emulator } from "../support/emulator.ts";
import { npmPackages } from "../support/foreign/installed.ts";
import { run } from "../support/foreign/program.ts";
import { receiver } from "../support/receiver.ts";

const generator = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0"];
/** The generator asks for the compiler's API, which TypeScript 7 does not have. */
const made = await npmPackages(...generator, "typescript@5.9.2", "@types/node@20.19.43");

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const strict = ["strict", "noEmit", "skipLibCheck", "allowImportingTsExtensions"].map((flag) => `--${flag}`);
const compiler = [...strict, "--module", "nodenext", "--target", "es2023", "--types", "node"];

describe("a client that openapi-typescript and openapi-fetch make of the documents", { skip: made.missing }, () => {
  it("compiles, and walks the journey from an uploaded file to an executed contract", async (t) => {
    if (made.missing !== undefined) return;
    const { routerUrl, controlUrl, clusters, token } = await emulator(t);
    const { url, received } = await receiver(t);
    const folder = await mkdtemp(join(tmpdir(), "svc-generated-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    for (const service of ["router", "contracts", "emulator"]) {
      const document = `${controlUrl}/openapi/${service}.json`;
      // What has a default may be left out of a request; the generator takes it for given unless it is told.
      const argv = [document, "--output", `${service}.ts`, "--default-non-nullable=false"];
      await run(join(made.folder, "node_modules/.bin/openapi-typescript"), argv, { cwd: folder });
    }
    await copyFile(here("./generated-client/journey.ts"), join(folder, "journey.ts"));
    await symlink(join(made.folder, "node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "package.json"), '{"type":"module"}');

    const tsc = here("../../node_modules/typescript/bin/tsc");
    assert.equal(await run(process.execPath, [tsc, ...compiler, "journey.ts"], { cwd: folder }), "");

    const { journey } = (await tsImport(pathToFileURL(join(folder, "journey.ts")).href, import.meta.url)) as {
      journey: (started: object) => Promise<unknown>;
    };
    const { clientId = "", clientSecret = "", url: contractsUrl } = clusters[0]!;
    assert.deepEqual(await journey({ routerUrl, contractsUrl, clientId, clientSecret, token, receiverUrl: url }), {
      clusters: ["eu-1", "us-1"],
      put: 200,
      attachments: ["brief.txt"],
      sent: "SIGN",
      recipients: ["bill@initech.example IN_PROGRESS"],
      executed: "EXECUTED",
      delivered: ["CONTRACT_EXECUTED", "CONTRACT_CREATED"],
      refused: [404, { detail: "Not found." }],
    });
    assert.equal(received.length, 2);
  });
});
