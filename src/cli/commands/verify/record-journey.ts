import { randomBytes } from "node:crypto";
import { isObject, toFields } from "../../../base/object.ts";
import { hashEmail } from "../../../schemes/email-hash.ts";
import type { RecordingClient } from "./record-caller.ts";

export const journeyPlanSteps: readonly string[] = [
  "Send requests with missing fields and wrong types, which create nothing",
  "Upload a file",
  "Create a webhook, and delete it",
  "Create a legal intake, if one exists to copy, and delete it",
  "Create a contract from the first template, send it to svc-verify@example.com, and void it",
  "Map an identifier with a random prefix, and unmap it",
];

type CleanUpTask = () => Promise<unknown>;

/** A sequence of requests that removes the objects it creates, even after an interruption. */
export class RecordingJourney {
  readonly #caller: RecordingClient;
  readonly #prefix = `svc-verify-${randomBytes(5).toString("hex")}`;
  readonly #cleanUps: { readonly label: string; readonly run: CleanUpTask }[] = [];

  constructor(caller: RecordingClient) {
    this.#caller = caller;
  }

  async run(): Promise<void> {
    const caller = this.#caller;
    if (caller.canCall("contracts.create")) {
      await this.#recordMistakes();
      await this.#upload();
      await this.#recordWebhook();
      await this.#recordIntake();
      await this.#recordContract();
    }
    if (caller.canCall("cluster-emails.map")) await this.#recordMapping();
  }

  /** Removes the remaining objects, newest first. Resolves with the objects that could not be removed. */
  async cleanUp(): Promise<readonly string[]> {
    const failed: string[] = [];
    // The objects are removed even after an interruption.
    this.#caller.signal = undefined;
    for (const { label, run } of this.#cleanUps.splice(0).reverse()) {
      await run().catch((error: Error) => failed.push(`${label}: ${error.message}`));
    }
    return failed;
  }

  async #recordMistakes(): Promise<void> {
    await this.#caller.call("contracts.create", { body: {} });
    await this.#caller.call("contracts.create", {
      body: { contract_template_id: "first", contract_data: [], counter_party_details: {} },
    });
    await this.#caller.call("webhooks.create", { body: { title: 1, only_for_activities: ["NOTHING"] } });
    await this.#caller.call("counterparties.create", { body: {} });
    await this.#caller.call("files.initialize", { body: { files: [] } });
  }

  async #upload(): Promise<void> {
    const initialized = await this.#caller.call("files.initialize", {
      body: { files: [{ filename: `${this.#prefix}.txt`, content_type: "text/plain" }] },
    });
    const [file] = (toFields(initialized).files ?? []) as Record<string, unknown>[];
    if (typeof file?.upload_url !== "string") return;
    await this.#caller.upload(file.upload_url, "text/plain", Buffer.from("svc verify\n"));
    if (typeof file.file_id === "string") await this.#caller.call("files.show", { params: { file_id: file.file_id } });
  }

  async #recordWebhook(): Promise<void> {
    const url = "https://example.com/svc-verify";
    const body = { title: this.#prefix, url, only_for_activities: ["CONTRACT_VOIDED"] };
    const { id } = toFields(await this.#caller.call("webhooks.create", { body }));
    if (typeof id === "number")
      await this.#removeAgain(`webhook ${id}`, () =>
        this.#caller.require("webhooks.delete", { params: { webhook_id: id } }),
      );
  }

  /** The API lists no workflows, so an existing intake provides one. */
  async #recordIntake(): Promise<void> {
    const workflowList = toFields(await this.#caller.call("intake.list"));
    const workflow = JSON.stringify(workflowList).match(/"workflow(?:_id)?":\s*(?:\{"id":\s*)?(\d+)/)?.[1];
    if (workflow === undefined) return;
    const body = { workflow_id: Number(workflow), title: this.#prefix, description: "svc verify" };
    const { id } = toFields(await this.#caller.call("intake.create", { body }));
    if (typeof id === "number" || typeof id === "string")
      await this.#removeAgain(`intake ${id}`, () =>
        this.#caller.require("intake.delete", { params: { intake_id: id } }),
      );
  }

  async #recordContract(): Promise<void> {
    const { items } = toFields(await this.#caller.call("templates.list"));
    const [template] = (Array.isArray(items) ? items : []).filter(isObject);
    if (typeof template?.id !== "number") return;
    const metadata = await this.#caller.call("templates.metadata", { params: { template_id: template.id } });
    const { attributes } = toFields(metadata);
    const body = {
      contract_template_id: template.id,
      contract_name: this.#prefix,
      contract_data: buildSampleData(Array.isArray(attributes) ? attributes.filter(isObject) : []),
      counter_party_details: [
        { is_individual: true, poc_details: { first_name: "Verify", email: "svc-verify@example.com" } },
      ],
    };
    const { id } = toFields(await this.#caller.call("contracts.create", { body }));
    if (typeof id !== "string") return;
    const params = { composite_id: id };
    this.#cleanUps.push({
      label: `contract ${id}`,
      run: () => this.#caller.require("execution.void", { params, body: { note: "svc verify" } }),
    });
    await this.#caller.call("contracts.status", { params });
    // Existing contracts are not comparable with contracts of an emulator.
    await this.#caller.call("contracts.list");
    await this.#caller.call("contracts.recipients", { params });
    await this.#caller.call("contracts.send", { params, body: {} });
    await this.#caller.call("contracts.status", { params });
    await this.#cleanUpLast();
    await this.#caller.call("contracts.status", { params });
  }

  async #recordMapping(): Promise<void> {
    const clusterText = JSON.stringify((await this.#caller.call("clusters.list")) ?? {});
    const cluster_id = /"cluster_id":\s*"([^"]+)"/.exec(clusterText)?.[1];
    if (cluster_id === undefined) return;
    const email_hash = hashEmail(`${this.#prefix}@example.com`);
    const body = { cluster_id, email_hash_list: [email_hash] };
    const remove = () => this.#caller.require("cluster-emails.unmap", { body });
    this.#cleanUps.push({ label: `mapping ${this.#prefix}`, run: remove });
    await this.#caller.call("cluster-emails.map", { body });
    await this.#caller.call("cluster-emails.show", { params: { email_hash } });
    await this.#cleanUpLast();
    await this.#caller.call("cluster-emails.show", { params: { email_hash } });
  }

  async #removeAgain(label: string, run: CleanUpTask): Promise<void> {
    this.#cleanUps.push({ label, run });
    await this.#cleanUpLast();
  }

  /** Runs the last clean-up. A failed clean-up is repeated at the end. */
  async #cleanUpLast(): Promise<void> {
    await this.#cleanUps.at(-1)!.run();
    this.#cleanUps.pop();
  }
}

/** Creates values of the right type for all required attributes. */
function buildSampleData(attributes: readonly Record<string, unknown>[]): Record<string, unknown> {
  const createSample = ({ type, options }: Record<string, unknown>): unknown => {
    const [option] = (Array.isArray(options) ? options : []) as Record<string, unknown>[];
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
