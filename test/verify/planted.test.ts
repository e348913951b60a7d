import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { startEmulator } from "../../emulator/index.ts";
import { readCorpus } from "../../src/verify/corpus.ts";
import { deriveObservations } from "../../src/verify/observed/observations.ts";
import { replayOnEmulator } from "../../src/verify/replay/replay.ts";
import { buildVerifyReport } from "../../src/verify/report.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { createContractRequest } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { type Deviation, startDeviatingService } from "../support/verify/deviating-service.ts";
import {
  contradictInResponses,
  contradictInWebhooks,
  deviateResponses,
  deviateWebhooks,
  plantedResponses,
  plantedWebhooks,
} from "../support/verify/planted-deviations.ts";
import { readReferenceData, recordSession, runContractJourney, subscribe } from "../support/verify/recorded-session.ts";

const plantedNames = [...Object.keys(plantedResponses), ...Object.keys(plantedWebhooks)].sort();
const activities = ["CONTRACT_CREATED", "COUNTER_PARTY_CREATED"];

/** Records a service that differs from the emulator in twenty ways. */
async function recordPlanted(t: TestContext): Promise<string> {
  const folder = `${await createTestFolder(t)}/corpus`;
  const service = await startTestEmulator(t, { clock: { mode: "manual", start: "2026-03-04T05:06:07Z" } });
  const before = await startDeviatingService(t, service.clusters[0]!.url, deviateResponses, "responses");
  const session = await recordSession(t, service, folder, before);
  const receiver = await startDeviatingService(t, session.receiverUrl, deviateWebhooks, "requests");
  await readReferenceData(session);
  await subscribe(session, receiver, ...activities);
  await runContractJourney(session, "Zelda");
  await runContractJourney(session, "Yuri");
  await session.end();
  return folder;
}

type Session = Awaited<ReturnType<typeof recordSession>>;

/** Records requests to a service that deviates from the emulator, and returns the differences. */
async function recordDeviations(t: TestContext, deviate: Deviation, use: (session: Session) => Promise<unknown>) {
  const folder = `${await createTestFolder(t)}/corpus`;
  const service = await startTestEmulator(t);
  const before = await startDeviatingService(t, service.clusters[0]!.url, deviate, "responses");
  const session = await recordSession(t, service, folder, before);
  await use(session);
  await session.end();
  const { differences } = buildVerifyReport(await replayOnEmulator(await readCorpus(folder), startEmulator), {});
  return { folder, differences };
}

describe("service with 20 planted differences", () => {
  it("produces exactly these 20 findings", async (t) => {
    const corpus = await readCorpus(await recordPlanted(t));
    const report = buildVerifyReport(await replayOnEmulator(corpus, startEmulator), {});
    assert.equal(plantedNames.length, 20);
    assert.deepEqual(report.differences.map(({ id }) => id).sort(), plantedNames);
  });

  it("can be imitated by an emulator with --observed", async (t) => {
    const folder = await recordPlanted(t);
    const lines: string[] = [];
    // The emulator with --observed is recorded too: it has the same differences as the service.
    const observing = await startTestEmulator(t, {
      observed: folder,
      log: (line) => lines.push(line),
      clock: { mode: "manual", start: "2029-01-01T00:00:00Z" },
    });
    const { body: document } = await observing.control("GET", "/openapi/contracts.json");
    const { post } = (document as { webhooks: Record<string, { post: Record<string, unknown> }> }).webhooks
      .CONTRACT_CREATED!;
    assert.deepEqual([post["x-basis"], (post["x-observed"] as { times: number }).times], ["observed", 2]);
    const again = `${await createTestFolder(t)}/corpus`;
    const session = await recordSession(t, observing, again);
    await readReferenceData(session);
    await subscribe(session, session.receiverUrl, ...activities);
    await runContractJourney(session, "Walter");
    await runContractJourney(session, "Ursula");
    await session.end();
    const report = buildVerifyReport(await replayOnEmulator(await readCorpus(again), startEmulator), {});
    assert.deepEqual(lines, []);
    assert.deepEqual(report.differences.map(({ id }) => id).sort(), plantedNames);
  });
});

describe("service whose values have other types", () => {
  it("produces a finding for each of them", async (t) => {
    const deviate: Deviation = (passing) => {
      if (!passing.label.endsWith("/entities/")) return;
      const [first, second] = passing.json as Record<string, unknown>[];
      first!.reference_id = null;
      second!.is_primary = "false";
      second!.name = 7;
    };
    const { differences } = await recordDeviations(t, deviate, readReferenceData);
    assert.deepEqual(
      differences.map(({ id }) => id).sort(),
      ["is_primary", "name", "reference_id"].map((field) => `organizations.entities:200:[].${field}:type`),
    );
  });
});

describe("service that responds with a web page", () => {
  it("produces a finding that says so", async (t) => {
    const deviate: Deviation = (passing) => {
      if (passing.label.endsWith("/entities/")) passing.text = "<hr>";
    };
    const { differences } = await recordDeviations(t, deviate, readReferenceData);
    assert.deepEqual(
      differences.map(({ id, recorded }) => [id, recorded]),
      [["organizations.entities:200:type", "a body of 4 bytes that is not JSON"]],
    );
  });
});

describe("service that spells a declared value differently", () => {
  it("produces a finding, because the recording contains the value", async (t) => {
    const deviate: Deviation = (passing) => {
      passing.text = JSON.stringify(passing.json)?.replace('"contract_status":"DRAFT"', '"contract_status":"Draft"');
    };
    const { differences } = await recordDeviations(t, deviate, async (session) => {
      await readReferenceData(session);
      await session.api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest() });
    });
    assert.deepEqual(
      differences.map(({ path, recorded, replayed }) => [path, recorded, replayed]),
      [["contract_status", "Draft", "DRAFT"]],
    );
  });
});

describe("service with another number in a message", () => {
  it("produces a finding, because the number identifies nothing", async (t) => {
    const deviate: Deviation = (passing) => {
      if (passing.status === 400) passing.text = JSON.stringify(passing.json).replace("(char 1)", "(char 7)");
    };
    const invalid = { body: "{", headers: { "content-type": "application/json" } };
    const { differences } = await recordDeviations(t, deviate, ({ api }) =>
      api("POST", "/api/v2.1/public/contracts/", invalid),
    );
    assert.deepEqual(
      differences.map(({ id }) => id),
      ["contracts.create:json-parse-error:400:detail:wording"],
    );
  });
});

describe("service with other lists", () => {
  it("produces a finding for another order and another number of items", async (t) => {
    const webhooks = "/api/v2.1/public/webhooks/";
    let created = 0;
    const deviate: Deviation = ({ json }) => {
      const names = (json as { only_for_activities?: string[] } | undefined)?.only_for_activities;
      if (names === undefined) return;
      created += 1;
      if (created === 1) names.reverse();
      else names.pop();
    };
    const { differences } = await recordDeviations(t, deviate, async ({ api, receiverUrl }) => {
      const body = { title: "Hooks", url: receiverUrl, only_for_activities: activities };
      for (let i = 0; i < 2; i += 1) await api("POST", webhooks, { body });
    });
    assert.deepEqual(
      differences.map(({ id, recorded, replayed }) => [id, recorded, replayed]),
      [
        ["webhooks.create:201:only_for_activities:item-order", activities.toReversed(), activities],
        ["webhooks.create:201:only_for_activities:items", 1, 2],
      ],
    );
  });
});

describe("service that signs webhooks differently", () => {
  const toBase64 = (signature: string) => Buffer.from(signature, "hex").toString("base64");
  for (const [form, sign] of [
    ["64 hexadecimal digits", (signature: string) => signature.slice(64)],
    ["88 characters", toBase64],
    ["135 characters", (signature: string) => `sha512=${signature}`],
  ] as const)
    it(`produces a finding for a signature of ${form}`, async (t) => {
      const name = "x-svc-webhook-content-hash";
      const folder = `${await createTestFolder(t)}/corpus`;
      const session = await recordSession(t, await startTestEmulator(t), folder);
      const deviate: Deviation = ({ headers }) => {
        headers[name] = sign(headers[name]!);
      };
      await subscribe(
        session,
        await startDeviatingService(t, session.receiverUrl, deviate, "requests"),
        "COUNTER_PARTY_CREATED",
      );
      await runContractJourney(session, "Zelda");
      await session.end();
      const corpus = await readCorpus(folder);
      const report = buildVerifyReport(await replayOnEmulator(corpus, startEmulator), {});
      const findings = report.differences.filter(({ claim }) => claim.startsWith("webhook "));
      assert.deepEqual(
        findings.map(({ id, recorded, replayed }) => [id, recorded, replayed]),
        [[`webhook:COUNTER_PARTY_CREATED:header.${name}:signature-form`, form, "128 hexadecimal digits"]],
      );
      assert.deepEqual(
        deriveObservations(report, corpus).rejected.map(({ id }) => id),
        findings.map(({ id }) => id),
      );
    });
});

describe("service that gives up after two attempts", () => {
  for (const [name, recordedFor, attempts, delayMs = 0] of [
    ["produces a finding if the recording has the time for more", "PT6H", [2, 6]],
    ["produces none if a third attempt can be late", "PT15M30S", undefined],
    ["produces none if each attempt is a minute late", "PT17M30S", undefined, 60_000],
  ] as const)
    it(name, async (t) => {
      let late = 0;
      const folder = `${await createTestFolder(t)}/corpus`;
      const service = await startTestEmulator(t, { retrySchedule: ["5m"] });
      const session = await recordSession(t, service, folder, undefined, (_, at) => {
        late += delayMs;
        return { status: 500, at: at + late };
      });
      await subscribe(session, session.receiverUrl, "CONTRACT_CREATED");
      await runContractJourney(session, "Zelda");
      await service.clock.advance({ by: recordedFor });
      await session.end();
      const { claims, differences } = buildVerifyReport(
        await replayOnEmulator(await readCorpus(folder), startEmulator),
        {},
      );
      const name = "webhook CONTRACT_CREATED";
      const findings = differences.filter(({ claim }) => claim === name);
      assert.deepEqual(
        findings.map(({ id, recorded, replayed }) => [id, recorded, replayed]),
        attempts ? [["webhook:CONTRACT_CREATED:attempts:attempts", ...attempts]] : [],
      );
      assert.equal(claims.find(({ claim }) => claim === name)?.verdict, attempts ? "refuted" : "confirmed");
    });
});

describe("service that returns one ID for two contracts", () => {
  it("produces a finding", async (t) => {
    const deviate: Deviation = ({ json }) => {
      if (json !== null && typeof json === "object" && "contract_id" in json) json.contract_id = 5;
    };
    const { differences } = await recordDeviations(t, deviate, async (session) => {
      await readReferenceData(session);
      for (let i = 0; i < 2; i += 1)
        await session.api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest() });
    });
    assert.deepEqual(
      differences.map(({ id, recorded, replayed }) => [id, recorded, replayed]),
      [["contracts.create:201:contract_id:value", 5, 2]],
    );
  });
});

describe("service with other messages for an unsupported method", () => {
  it("produces a finding, and --observed reproduces the messages", async (t) => {
    const deviate: Deviation = (passing) => {
      if (passing.status === 405) passing.json = { detail: "Method not supported." };
    };
    const { folder, differences } = await recordDeviations(t, deviate, ({ api }) =>
      api("PUT", "/api/v2.1/public/templates/"),
    );
    assert.deepEqual(
      differences.map(({ id }) => id),
      ["templates.list:method-not-allowed:405:detail:wording"],
    );
    const observing = await startTestEmulator(t, { observed: folder });
    assert.deepEqual((await observing.api("PUT", "/api/v2.1/public/templates/")).body, {
      detail: "Method not supported.",
    });
  });
});

describe("recording without its templates", () => {
  it("has no difference in a contract name that contains the name of its template", async (t) => {
    const folder = `${await createTestFolder(t)}/corpus`;
    const session = await recordSession(t, await startTestEmulator(t), folder);
    await runContractJourney(session, "Zelda");
    await session.end();
    const { differences } = buildVerifyReport(await replayOnEmulator(await readCorpus(folder), startEmulator), {});
    const names = differences.filter(({ path }) => /name|title/.test(path));
    assert.deepEqual(names, []);
  });
});

describe("concurrent deliveries in a corpus", () => {
  it("are matched by their contract", async (t) => {
    const folder = `${await createTestFolder(t)}/corpus`;
    const service = await startTestEmulator(t);
    let attempts = 0;
    // The second delivery is recorded before the first one.
    const session = await recordSession(t, service, folder, undefined, (_, at) => {
      attempts += 1;
      return { status: 200, at: attempts === 1 ? at + 2_500 : at };
    });
    await readReferenceData(session);
    await subscribe(session, session.receiverUrl, "CONTRACT_CREATED");
    for (let i = 0; i < 2; i += 1)
      await session.api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest() });
    await session.end();
    const { differences } = buildVerifyReport(await replayOnEmulator(await readCorpus(folder), startEmulator), {});
    assert.deepEqual([attempts, differences], [2, []]);
  });
});

describe("service that contradicts the specification", () => {
  /** Records a contract whose webhook fails once and is resent after 25 minutes, not 5. */
  async function recordContradictions(t: TestContext): Promise<string> {
    const folder = `${await createTestFolder(t)}/corpus`;
    const service = await startTestEmulator(t);
    let attempts = 0;
    const to = await startDeviatingService(t, service.clusters[0]!.url, contradictInResponses, "responses");
    const session = await recordSession(t, service, folder, to, (_, at) => {
      attempts += 1;
      return attempts === 1 ? { status: 500, at } : { status: 200, at: at + 20 * 60_000 };
    });
    await readReferenceData(session);
    await subscribe(
      session,
      await startDeviatingService(t, session.receiverUrl, contradictInWebhooks, "requests"),
      "CONTRACT_CREATED",
    );
    await runContractJourney(session, "Zelda");
    await service.clock.advance({ by: "PT1H" });
    await session.end();
    return folder;
  }

  it("is compared without imitation, including retry times", async (t) => {
    const corpus = await readCorpus(await recordContradictions(t));
    const { differences } = buildVerifyReport(await replayOnEmulator(corpus, startEmulator), {});
    assert.deepEqual(
      differences.map(({ id, recorded, replayed }) => [id, recorded, replayed]),
      [
        ["contracts.create:201:status", 202, 201],
        ["contracts.status:200:contract_status:type", 7, "DRAFT"],
        ["webhook:CONTRACT_CREATED:contract_id:type", "1", 1],
        ["webhook:CONTRACT_CREATED:retry.1:retry-time", "25 min", "5 min"],
      ],
    );
  });

  it("is not imitated by an emulator with --observed, which reports the reason", async (t) => {
    const lines: string[] = [];
    const observing = await startTestEmulator(t, {
      observed: await recordContradictions(t),
      log: (line) => lines.push(line),
    });
    const explainSkipped = (id: string, contradicted: string) =>
      `Observation ${id} is not applied: it contradicts the specification${contradicted}.`;
    assert.deepEqual(lines, [
      explainSkipped("contracts.create:201:status", ", in which contracts.create does not return 202"),
      explainSkipped("contracts.status:200:contract_status:type", " of contracts.status at contract_status"),
      explainSkipped("webhook:CONTRACT_CREATED:contract_id:type", " of the payload at contract_id"),
      explainSkipped("webhook:CONTRACT_CREATED:retry.1:retry-time", ", which fixes the retry schedule"),
    ]);
    const response = await observing.api("POST", "/api/v2.1/public/contracts/", { body: createContractRequest() });
    const otherResponse = await observing.api("GET", "/api/v2.1/public/contracts/T-1/status");
    assert.deepEqual(
      [response.status, otherResponse.body],
      [201, { contract_name: "NDA with Acme", contract_status: "DRAFT" }],
    );
  });
});
