import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it, type TestContext } from "node:test";
import { getSvcPath } from "../../../support/shipped.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

const stateBytes = 200_000_000;
const perRequest = 100_000;
const key = "cluster-key-eu-1";
/** Exit code without a signal. A process that had to be killed would end with the signal. */
const endedBySigterm = [143, null];

describe("SIGTERM with 200 MB of state", () => {
  it("stops svc emulator start without losing acknowledged data", async (t) => {
    const folder = await createTemporaryFolder(t);
    await writeFile(join(folder, "seed.json"), JSON.stringify({ clusters: [{ id: "eu-1", label: "eu", key }] }));
    const first = await start(t, folder);
    let requests = 0;
    while ((await measureFolderBytes(folder)) < stateBytes) {
      await first.map(requests);
      requests += 1;
    }
    // The signal arrives during a request, which can be applied completely or not at all.
    const last = first.map(requests).catch(() => undefined);
    first.child.kill("SIGTERM");
    assert.deepEqual(await first.closed, endedBySigterm);
    await last;
    const stateFiles = /^(?:seed\.json|files|emulator\.json(?:\.journal\.\d+|\.history|\.origin)?)$/;
    assert.deepEqual(
      (await readdir(folder)).filter((name) => !stateFiles.test(name)),
      [],
    );

    const second = await start(t, folder);
    for (let request = 0; request < requests; request += 1) assert.equal(await second.countOf(request), perRequest);
    assert.ok([0, perRequest].includes(await second.countOf(requests)));
    second.child.kill("SIGTERM");
    assert.deepEqual(await second.closed, endedBySigterm);
  });
});

/** Returns the size of the state and its journals without files that are removed meanwhile. */
async function measureFolderBytes(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map((name) =>
    stat(join(folder, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Returns the e-mail hashes of one request. No two requests share a hash. */
const createHashes = (request: number): string[] =>
  Array.from({ length: perRequest }, (_, at) => createHash("sha256").update(`${request}.${at}`).digest("hex"));

/** Runs `svc emulator start` from the package. */
async function start(t: TestContext, folder: string) {
  const file = join(folder, "emulator.json");
  const argv = ["emulator", "start", "--port", "0", "--file", file, "--seed", join(folder, "seed.json"), "--json"];
  const child = spawn(process.execPath, [getSvcPath(), ...argv], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const closed: Promise<unknown> = once(child, "close");
  await Promise.race([once(createInterface({ input: child.stdout }), "line"), closed]);
  const { router_url: url, token } = JSON.parse(await readFile(`${file}.run`, "utf8"));
  const post = async (path: string, headers: Record<string, string>, body: unknown): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  };
  return {
    child,
    closed,
    map: (request: number) =>
      post(
        "/router/v1/cluster_emails/bulk",
        { "x-cluster-key": key },
        { email_hash_list: createHashes(request), cluster_id: "eu-1" },
      ),
    /** Returns the number of mapped hashes of a request. */
    async countOf(request: number): Promise<number> {
      const hashes = createHashes(request);
      let count = 0;
      for (let from = 0; from < hashes.length; from += 10_000) {
        const body = { table: "cluster_emails", keys: hashes.slice(from, from + 10_000) };
        const found = await post("/_emulator/owners", { authorization: `Bearer ${token}` }, body);
        count += (found as { cluster_ids: (string | null)[] }).cluster_ids.filter((id) => id === "eu-1").length;
      }
      return count;
    },
  };
}
