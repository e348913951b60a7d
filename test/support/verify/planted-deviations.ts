import type { Deviation, InterceptedMessage } from "./deviating-service.ts";

type Row = Record<string, unknown>;
const getRows = (json: unknown, name: string): Row[] => (json as Record<string, Row[]>)[name]!;
const reverseFields = (row: Row): Row => Object.fromEntries(Object.entries(row).reverse());
const matchesMessage = (passing: InterceptedMessage, method: string, path: RegExp, status: number): boolean =>
  passing.status === status && new RegExp(`^${method} .*${path.source}$`).test(passing.label);

/** Differences between the planted service and the emulator that do not contradict the specification. */
export const plantedResponses: Readonly<Record<string, Deviation>> = {
  "counterparties.create:201:status"(p) {
    if (matchesMessage(p, "POST", /counter_parties\//, 201)) p.status = 200;
  },
  "contracts.status:not-found:404:status"(p) {
    if (matchesMessage(p, "GET", /\/status/, 404)) p.status = 410;
  },
  "contracts.list:200:results[].reference_id:absent"(p) {
    if (matchesMessage(p, "GET", /public\/contracts\//, 200))
      for (const row of getRows(p.json, "results")) delete row.reference_id;
  },
  "contracts.list:200:results[].is_archived:added"(p) {
    if (matchesMessage(p, "GET", /public\/contracts\//, 200))
      for (const row of getRows(p.json, "results")) row.is_archived = false;
  },
  "contracts.list:200:results[].contract_type_id:type"(p) {
    if (matchesMessage(p, "GET", /public\/contracts\//, 200))
      for (const row of getRows(p.json, "results")) row.contract_type_id = String(row.contract_type_id);
  },
  "templates.list:200:items[].tags:type"(p) {
    if (matchesMessage(p, "GET", /templates\//, 200)) for (const row of getRows(p.json, "items") ?? []) row.tags = null;
  },
  "contracts.list:200:results[].contract_status:enumeration"(p) {
    if (matchesMessage(p, "GET", /public\/contracts\//, 200))
      for (const row of getRows(p.json, "results")) row.contract_status = String(row.contract_status).toLowerCase();
  },
  "users.roles:200:active_roles[]:order"(p) {
    if (matchesMessage(p, "GET", /auth\/roles\//, 200))
      p.json = { active_roles: getRows(p.json, "active_roles").map(reverseFields) };
  },
  "contract-types.list:200:item-order"(p) {
    if (matchesMessage(p, "GET", /contract_types\//, 200)) p.json = (p.json as Row[]).toReversed();
  },
  "contracts.recipients:not-found:404:detail:wording"(p) {
    if (matchesMessage(p, "GET", /recipients\//, 404)) p.json = { detail: "No contract matches the given query." };
  },
  "comments.create:invalid-fields:400:code:added"(p) {
    if (matchesMessage(p, "POST", /comments\//, 400)) p.json = { ...(p.json as Row), code: "invalid" };
  },
  "templates.list:200:header.cache-control:header"(p) {
    if (matchesMessage(p, "GET", /templates\//, 200)) p.headers["cache-control"] = "no-store";
  },
  "organizations.types:200:header.content-type:header"(p) {
    if (matchesMessage(p, "GET", /organizations\/types\//, 200))
      p.headers["content-type"] = "application/json; charset=utf-8";
  },
  "contracts.list:200:results[].created:time-format"(p) {
    if (matchesMessage(p, "GET", /public\/contracts\//, 200))
      for (const row of getRows(p.json, "results")) row.created = String(row.created).replace("Z", ".000+00:00");
  },
  "files.initialize:200:files[].expires_at:time"(p) {
    if (matchesMessage(p, "POST", /uploads\//, 200))
      for (const row of getRows(p.json, "files")) {
        row.expires_at = new Date(Date.parse(String(row.expires_at)) + 45 * 60_000).toISOString().replace(".000Z", "Z");
      }
  },
  "contracts.list:200:limit:value"(p) {
    if (matchesMessage(p, "GET", /public\/contracts\//, 200)) (p.json as Row).limit = 25;
  },
};

export const plantedWebhooks: Readonly<Record<string, Deviation>> = {
  "webhook:CONTRACT_CREATED:contract_template_id:absent"(p) {
    if (p.label === "CONTRACT_CREATED") delete (p.json as Row).contract_template_id;
  },
  "webhook:CONTRACT_CREATED:header.x-event:header"(p) {
    if (p.label === "CONTRACT_CREATED") p.headers["x-event"] = "CONTRACT_CREATED";
  },
  "webhook:COUNTER_PARTY_CREATED:COUNTER_PARTY_CREATED:missing-activity"(p) {
    if (p.label === "COUNTER_PARTY_CREATED") p.isDropped = true;
  },
  "webhook:CONTRACT_CREATED:spelling"(p) {
    p.text = JSON.stringify(p.json, undefined, 1)
      .replace(/\n */g, " ")
      .replace(/([{[]) | ([}\]])/g, "$1$2");
  },
};

/** Applies differences that contradict the specification, in a status and in the type of a field. */
export const contradictInResponses: Deviation = (p) => {
  if (matchesMessage(p, "POST", /public\/contracts\//, 201)) p.status = 202;
  if (matchesMessage(p, "GET", /\/status/, 200)) (p.json as Row).contract_status = 7;
};
export const contradictInWebhooks: Deviation = (p) => {
  if (p.label === "CONTRACT_CREATED") (p.json as Row).contract_id = String((p.json as Row).contract_id);
};

export const deviateResponses: Deviation = (passing) => {
  for (const deviate of Object.values(plantedResponses)) deviate(passing);
};
export const deviateWebhooks: Deviation = (passing) => {
  for (const deviate of Object.values(plantedWebhooks)) deviate(passing);
};
