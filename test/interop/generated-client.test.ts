import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { tsImport } from "tsx/esm/api";
import { emulator } from "../support/emulator.ts";
import { receiver } from "../support/receiver.ts";
import { typesOf } from "./generated-types.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const strict = ["strict", "noEmit", "skipLibCheck", "allowImportingTsExtensions"].map((flag) => `--${flag}`);
const compiler = [...strict, "--module", "nodenext", "--target", "es2023", "--types", "node"];

describe("a client that openapi-typescript and openapi-fetch make of the documents", () => {
  it("compiles, and walks the journey from an uploaded file to an executed contract", async (t) => {
    const { routerUrl, controlUrl, clusters, token } = await emulator(t);
    const { url, received } = await receiver(t);
    const folder = await mkdtemp(join(tmpdir(), "svc-generated-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    for (const service of ["router", "contracts", "emulator"]) {
      await writeFile(join(folder, `${service}.ts`), await typesOf(`${controlUrl}/openapi/${service}.json`));
    }
    await copyFile(here("./generated-client/journey.ts"), join(folder, "journey.ts"));
    await symlink(here("../../node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "package.json"), '{"type":"module"}');

    const tsc = join(folder, "node_modules/typescript/bin/tsc");
    const compiled = await promisify(execFile)(process.execPath, [tsc, ...compiler, "journey.ts"], {
      cwd: folder,
    }).catch((error: { stdout: string }) => error);
    assert.equal(compiled.stdout, "");

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
