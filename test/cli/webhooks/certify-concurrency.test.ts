import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemWallClock } from "../../../src/base/clock.ts";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { writeFileAtomic } from "../../../src/files/atomic-write.ts";
import { startSignedReceiver } from "../../support/cli/signed-receiver.ts";

/** Replaces a file in one step, so that a probe never reads it while it is empty. */
const replaceFile = (path: string, content: string) => writeFileAtomic(path, content, { durable: false });

/** Stores an event in a JSON-lines file by reading the file and writing it back. */
async function addLine(path: string, line: string): Promise<void> {
  const text = await readFile(path, "utf8");
  await replaceFile(path, `${text}${line}\n`);
}

const pause = () => systemWallClock.sleep(20);
const contractOf = (body: Buffer) => (JSON.parse(body.toString()) as { contract_id: number }).contract_id;

/** What a receiver does with an event before it responds. `once` runs tasks one after the other. */
type Store = (event: {
  readonly key: string;
  readonly body: Buffer;
  readonly file: string;
  readonly seen: Set<string>;
  readonly once: (task: () => Promise<void>) => Promise<void>;
}) => Promise<void>;

const storeNew: Store = async ({ key, file, seen }) => {
  if (seen.has(key)) return;
  await addLine(file, key);
  seen.add(key);
};

type Row = readonly [receiver: string, store: Store, results: readonly [copies: string, burst: string], probe?: string];

const receivers: readonly Row[] = [
  ["one at a time", (event) => event.once(() => storeNew(event)), ["passed", "passed"]],
  [
    "one at a time, with the number",
    (event) => event.once(() => storeNew(event)),
    ["passed", "passed"],
    "wc -l < file",
  ],
  [
    "with a key that it reserves first",
    async ({ key, file, seen, once }) => {
      if (seen.size === seen.add(key).size) return;
      await pause();
      await once(() => addLine(file, key));
    },
    ["passed", "passed"],
  ],
  [
    "late, from a queue",
    async ({ key, file, seen, once }) => {
      if (seen.size < seen.add(key).size) void systemWallClock.sleep(300).then(() => once(() => addLine(file, key)));
    },
    ["passed", "passed"],
  ],
  [
    "with a key that it stores after the work",
    async ({ key, file, seen, once }) => {
      if (seen.has(key)) return;
      await pause();
      seen.add(key);
      await once(() => addLine(file, key));
    },
    ["failed", "passed"],
  ],
  [
    "by writing back what it has read",
    async ({ key, file, seen }) => {
      if (seen.size < seen.add(key).size) await addLine(file, key);
    },
    ["passed", "failed"],
  ],
  [
    "only as the last contract",
    ({ body, file, once }) => once(() => replaceFile(file, String(contractOf(body)))),
    ["not_checked", "not_checked"],
  ],
  [
    "by its contract",
    ({ body, file, seen, once }) =>
      once(async () => {
        const key = String(contractOf(body));
        if (seen.size < seen.add(key).size) await addLine(file, key);
      }),
    ["not_checked", "passed"],
  ],
  ["again for each copy", ({ key, file, once }) => once(() => addLine(file, key)), ["not_checked", "passed"]],
];

describe("svc webhooks certify with events that arrive together", { concurrency: 3 }, () => {
  for (const [receiver, store, [copies, burst], probe = "cat file"] of receivers) {
    it(`checks a receiver that stores events ${receiver}`, async (t) => {
      const seen = new Set<string>();
      let queue: Promise<void> = Promise.resolve();
      const once = (task: () => Promise<void>) => {
        queue = queue.then(task);
        return queue;
      };
      const { cwd, certify } = await startSignedReceiver(t, {
        async respond(body, response) {
          const key = createHash("sha256").update(body).digest("hex");
          await store({ key, body, file: join(cwd, "file"), seen, once });
          response.end();
        },
      });
      writeFileSync(join(cwd, "file"), "");
      const only = ["--only", "duplicate.at-once,parallel.stored", "--time-limit", "2m", "--json"];
      const { checks } = JSON.parse((await certify([...only, "--probe", probe])).stdout) as CertifyReport;
      assert.deepEqual(
        checks.map(({ id, result, mistake }) => [id, result, mistake]),
        [
          ["duplicate.at-once", copies, copies === "failed" ? "dedupe-race" : null],
          ["parallel.stored", burst, burst === "failed" ? "lost-update" : null],
        ],
        JSON.stringify(checks),
      );
    });
  }

  it("blames a slow receiver that rejects parallel requests only for that", async (t) => {
    let isBusy = false;
    const { certify } = await startSignedReceiver(t, {
      async handle({ isGenuine, response }) {
        if (isBusy) return void response.writeHead(503).end();
        isBusy = true;
        await systemWallClock.sleep(200);
        isBusy = false;
        response.writeHead(isGenuine ? 200 : 401).end();
      },
    });
    const only = ["--only", "genuine,raw-body,header,event,signature,order,parallel", "--time-limit", "2m", "--json"];
    const { findings } = JSON.parse((await certify(only)).stdout) as CertifyReport;
    assert.deepEqual(
      findings.map(({ mistake, result, checks }) => [mistake, result, checks]),
      [["parallel", "failed", ["parallel"]]],
    );
  });
});
