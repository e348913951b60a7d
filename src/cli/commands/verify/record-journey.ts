import { randomBytes } from "node:crypto";
import { hashEmail } from "../../../base/email-address.ts";
import { toFields, toRows } from "../../../base/object.ts";
import type { RecordingClient } from "./recording.ts";

export const journeyPlanSteps: readonly string[] = [
  "Send requests with missing fields and wrong types, which create nothing",
  "Upload a file",
  "Create a webhook, and delete it",
  "Create a legal intake, if one exists to copy, and delete it",
  "Create a contract from the first template, send it to svc-verify@example.com, and void it",
  "Map an identifier with a random prefix, and unmap it",
];

type CleanUpTask = () => Promise<unknown>;

/** Creates a sequence of requests that removes the objects it creates, even after an interruption. */
export function createRecordingJourney(caller: RecordingClient) {
  const prefix = `svc-verify-${randomBytes(5).toString("hex")}`;
  const cleanUps: { readonly label: string; readonly run: CleanUpTask }[] = [];
  return { run, cleanUp };

  async function run(): Promise<void> {
    if (caller.canCall("contracts.create")) {
      await recordMistakes();
      await upload();
      await recordWebhook();
      await recordIntake();
      await recordContract();
    }
    if (caller.canCall("cluster-emails.map")) await recordMapping();
  }

  /** Removes the remaining objects, newest first. Resolves with the objects that could not be removed. */
  async function cleanUp(): Promise<readonly string[]> {
    const failed: string[] = [];
    caller.startCleanUp();
    for (const { label, run } of cleanUps.splice(0).reverse()) {
      await run().catch((error: Error) => failed.push(`${label}: ${error.message}`));
    }
    return failed;
  }

  async function recordMistakes(): Promise<void> {
    await caller.call("contracts.create", { body: {} });
    await caller.call("contracts.create", {
      body: { contract_template_id: "first", contract_data: [], counter_party_details: {} },
    });
    await caller.call("webhooks.create", { body: { title: 1, only_for_activities: ["NOTHING"] } });
    await caller.call("counterparties.create", { body: {} });
    await caller.call("files.initialize", { body: { files: [] } });
  }

  async function upload(): Promise<void> {
    const initialized = await caller.call("files.initialize", {
      body: { files: [{ filename: `${prefix}.txt`, content_type: "text/plain" }] },
    });
    const [file] = (toFields(initialized).files ?? []) as Record<string, unknown>[];
    if (typeof file?.upload_url !== "string") return;
    await caller.upload(file.upload_url, "text/plain", Buffer.from("svc verify\n"));
    if (typeof file.file_id === "string") await caller.call("files.show", { params: { file_id: file.file_id } });
  }

  async function recordWebhook(): Promise<void> {
    const url = "https://example.com/svc-verify";
    const body = { title: prefix, url, only_for_activities: ["CONTRACT_VOIDED"] };
    const id = findId("webhook", await caller.call("webhooks.create", { body }));
    if (id !== undefined)
      await removeAgain(`webhook ${id}`, () => caller.require("webhooks.delete", { params: { webhook_id: id } }));
  }

  /** The API lists no workflows, so an existing intake provides one. */
  async function recordIntake(): Promise<void> {
    const workflowList = toFields(await caller.call("intake.list"));
    const workflow = JSON.stringify(workflowList).match(/"workflow(?:_id)?":\s*(?:\{"id":\s*)?(\d+)/)?.[1];
    if (workflow === undefined) return;
    const body = { workflow_id: Number(workflow), title: prefix, description: "svc verify" };
    const id = findId("intake", await caller.call("intake.create", { body }));
    if (id !== undefined)
      await removeAgain(`intake ${id}`, () => caller.require("intake.delete", { params: { intake_id: id } }));
  }

  async function recordContract(): Promise<void> {
    const { items } = toFields(await caller.call("templates.list"));
    const [template] = toRows(items);
    if (typeof template?.id !== "number") return;
    const metadata = await caller.call("templates.metadata", { params: { template_id: template.id } });
    const { attributes } = toFields(metadata);
    const body = {
      contract_template_id: template.id,
      contract_name: prefix,
      contract_data: buildSampleData(toRows(attributes)),
      counter_party_details: [
        { is_individual: true, poc_details: { first_name: "Verify", email: "svc-verify@example.com" } },
      ],
    };
    const id = findId("contract", await caller.call("contracts.create", { body }));
    if (id === undefined) return;
    const params = { composite_id: id };
    cleanUps.push({
      label: `contract ${id}`,
      run: () => caller.require("execution.void", { params, body: { note: "svc verify" } }),
    });
    await caller.call("contracts.status", { params });
    // Existing contracts are not comparable with contracts of an emulator.
    await caller.call("contracts.list");
    await caller.call("contracts.recipients", { params });
    await caller.call("contracts.send", { params, body: {} });
    await caller.call("contracts.status", { params });
    await cleanUpLast();
    await caller.call("contracts.status", { params });
  }

  async function recordMapping(): Promise<void> {
    const clusterText = JSON.stringify((await caller.call("clusters.list")) ?? {});
    const cluster_id = /"cluster_id":\s*"([^"]+)"/.exec(clusterText)?.[1];
    if (cluster_id === undefined) return;
    const email_hash = hashEmail(`${prefix}@example.com`);
    const body = { cluster_id, email_hash_list: [email_hash] };
    const remove = () => caller.require("cluster-emails.unmap", { body });
    cleanUps.push({ label: `mapping ${prefix}`, run: remove });
    await caller.call("cluster-emails.map", { body });
    await caller.call("cluster-emails.show", { params: { email_hash } });
    await cleanUpLast();
    await caller.call("cluster-emails.show", { params: { email_hash } });
  }

  /** Returns the ID of a new object, or undefined if none was created. An object without an ID cannot be removed. */
  function findId(kind: string, created: unknown): string | number | undefined {
    const { id } = toFields(created);
    if (typeof id === "number" || typeof id === "string") return id;
    const run = () => Promise.reject(new Error("the response to its creation has no ID"));
    if (created !== undefined) cleanUps.push({ label: `${kind} ${prefix}`, run });
    return undefined;
  }

  async function removeAgain(label: string, run: CleanUpTask): Promise<void> {
    cleanUps.push({ label, run });
    await cleanUpLast();
  }

  /** Runs the last clean-up. A failed clean-up is repeated at the end. */
  async function cleanUpLast(): Promise<void> {
    await cleanUps.at(-1)!.run();
    cleanUps.pop();
  }
}

function buildSampleData(attributes: readonly Record<string, unknown>[]): Record<string, unknown> {
  const createSample = ({ type, options }: Record<string, unknown>): unknown => {
    const [option] = toRows(options);
    if (type === "int" || type === "float") return 1;
    if (type === "boolean") return true;
    if (type === "date") return "2030-01-01";
    if (type === "enum") return option?.value;
    if (String(type).startsWith("array")) return option ? [option.value] : ["verify"];
    return "verify";
  };
  return Object.fromEntries(
    attributes
      .filter(({ required }) => required === true)
      .map((attribute) => [String(attribute.variable), createSample(attribute)]),
  );
}
