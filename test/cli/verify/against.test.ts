import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { type CliEmulator, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { type Deviation, startDeviatingService } from "../../support/verify/deviating-service.ts";
import { deviateResponses, plantedResponses } from "../../support/verify/planted-deviations.ts";
import { populateService } from "../../support/verify/recorded-session.ts";

/** The environment of a command that finds a service only by its profile. */
const env = {
  SVC_BASE_URL: "",
  SVC_CONTRACTS_URL: "",
  SVC_ROUTER_URL: "",
  SVC_CLIENT_ID: "",
  SVC_CLIENT_SECRET: "",
  SVC_CLUSTER_KEY: "",
  SVC_CLUSTERS: "",
};

interface Report {
  readonly compared: number;
  readonly drift: number;
  readonly differences: readonly { readonly id: string }[];
  readonly incomparable: readonly { readonly reason: string; readonly exchanges: number }[];
}

interface RecordedService extends CliEmulator {
  replay(service: TestEmulator, contractsUrl?: string): Promise<Report & { exit: number }>;
}

/** A recording of service A after a journey, and a function that replays it against any service. */
async function startRecordedService(t: Pick<TestContext, "after">): Promise<RecordedService> {
  const emulator = await startCliEmulator(t);
  const { cwd, svc } = emulator;
  await populateService(emulator.emulator, 2);
  const record = await svc("verify record --out corpus --allow-writes --yes --rate 1000");
  assert.equal(record.exit, 0, record.stderr);
  return {
    ...emulator,
    async replay({ routerUrl, clusters: [first] }, contractsUrl = first!.url) {
      const profile = {
        router_url: routerUrl,
        contracts_url: contractsUrl,
        client_id: first!.clientId,
        client_secret: first!.clientSecret,
        cluster_keys: { [first!.id]: first!.clusterKey },
      };
      await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles: { other: profile } }), { mode: 0o600 });
      const { exit, stdout, stderr } = await svc("verify replay corpus --against other --rate 1000 --json", { env });
      assert.notEqual(stdout, "", stderr);
      return { ...(JSON.parse(stdout) as Report), exit };
    },
  };
}

describe("svc verify replay --against with a profile", () => {
  // A replay changes neither the recording nor the service.
  let recording: RecordedService;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    recording = await startRecordedService({ after: (cleanup) => cleanups.push(cleanup as () => unknown) });
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  it("finds no drift in the recorded service, although the recording has changed it", async () => {
    const { emulator: recorded, replay } = recording;
    const { exit, drift, compared, differences } = await replay(recorded);
    assert.deepEqual({ exit, drift, differences }, { exit: 0, drift: 0, differences: [] });
    assert.ok(compared > 40, `${compared}`);
  });

  it("finds no drift in a service with other keys, users and contracts", async (t) => {
    const { replay } = recording;
    const otherEmulator = await startTestEmulator(t, { clock: { mode: "manual", start: "2031-03-04T05:06:07Z" } });
    await populateService(otherEmulator, 9);
    const { exit, drift, compared, differences } = await replay(otherEmulator);
    assert.deepEqual({ exit, drift, differences }, { exit: 0, drift: 0, differences: [] });
    assert.ok(compared > 40, `${compared}`);
  });

  it("lists the skipped comparisons with reasons", async (t) => {
    const { replay } = recording;
    const { incomparable } = await replay(await startTestEmulator(t));
    assert.deepEqual(incomparable.map(({ reason }) => reason).sort(), [
      "T-1 is not at this service",
      "T-2 is not at this service",
      "T-3 is not at this service",
      "counter_party_id 1 is not at this service",
      "counter_party_id 2 is not at this service",
      "counter_party_id 3 is not at this service",
      "intake_id 1 is not at this service",
      "intake_id 2 is not at this service",
      "intakes is empty now",
      "it may change something, and only reads are replayed against a service",
      "its identifier is a stand-in",
      "results is empty now",
    ]);
  });

  it("finds every planted difference that reads can reveal", async (t) => {
    const { replay } = recording;
    const otherEmulator = await startTestEmulator(t);
    await populateService(otherEmulator, 3);
    const { exit, differences } = await replay(
      otherEmulator,
      await startDeviatingService(t, otherEmulator.clusters[0]!.url, deviateResponses, "responses"),
    );
    const isShown = (id: string) =>
      !/^(?:counterparties\.create|comments\.create|files\.initialize)/.test(id) && !id.endsWith("item-order");
    assert.deepEqual(differences.map(({ id }) => id).sort(), Object.keys(plantedResponses).filter(isShown).sort());
    assert.equal(exit, 3);
  });

  it("finds differences in only one item of a list", async (t) => {
    const otherEmulator = await startTestEmulator(t);
    await populateService(otherEmulator, 3);
    const deviate: Deviation = ({ label, json }) => {
      if (!/^GET .*\/contracts\/$/.test(label)) return;
      const [first] = (json as { results?: Record<string, unknown>[] }).results ?? [];
      if (!first) return;
      delete first.contract_status;
      first.contract_type_id = String(first.contract_type_id);
      first.id = null;
    };
    const { exit, differences } = await recording.replay(
      otherEmulator,
      await startDeviatingService(t, otherEmulator.clusters[0]!.url, deviate, "responses"),
    );
    const fields = ["contract_status:absent", "contract_type_id:type", "id:type"];
    assert.deepEqual(
      differences.map(({ id }) => id).sort(),
      fields.map((field) => `contracts.list:200:results[].${field}`),
    );
    assert.equal(exit, 3);
  });

  it("finds no drift if the credentials are rejected and reports the rejection", async () => {
    const { replay, emulator: recorded } = recording;
    const [first] = recorded.clusters;
    const stranger = { ...recorded, clusters: [{ ...first!, clientSecret: "wrong", clusterKey: "wrong" }] };
    const { drift, incomparable } = await replay(stranger as TestEmulator);
    assert.equal(drift, 0);
    assert.ok(incomparable.some(({ reason }) => reason === "the credentials of the profile are rejected (401)"));
  });

  it("reports a service that does not respond", async () => {
    const { cwd, svc } = recording;
    const profile = { router_url: "http://127.0.0.1:9", contracts_url: "http://127.0.0.1:9" };
    await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles: { other: profile } }), { mode: 0o600 });
    const { exit, stderr } = await svc("verify replay corpus --against other", { env });
    assert.deepEqual(
      [exit, stderr.split("\n")[0]],
      [75, "error: http://127.0.0.1:9 did not respond: connect ECONNREFUSED 127.0.0.1:9."],
    );
  });

  it("applies no accepted differences, because accepted.json concerns the emulator", async () => {
    const { svc } = recording;
    const { exit, stderr } = await svc("verify replay corpus --against other --accept a --reason b");
    assert.deepEqual(
      { exit, stderr: stderr.split("\n")[0] },
      { exit: 2, stderr: "error: --accept cannot be used with --against other" },
    );
  });
});
