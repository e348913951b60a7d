import * as z from "zod";
import { dictionary } from "../dictionary.ts";
import { json, operation } from "../operation.ts";
import { contracts } from "../services.ts";
import { timestamp } from "../timestamp.ts";
import { compositeIdParam, contractIdParam } from "./shapes/records.ts";

export const updateIntakeForm = operation({
  id: "intake-form.update",
  service: contracts,
  summary: "Change a few answers of a contract's intake form",
  description: "Sent variables are replaced; others are kept. Unknown variables are accepted.",
  method: "PATCH",
  path: "/api/v2.1/public/contracts/{composite_id}/intake_form/response",
  auth: "api-key",
  request: {
    params: z.object({ composite_id: compositeIdParam }),
    body: json(dictionary(z.unknown()).describe("Answers, by variable")),
  },
  responses: { 200: json(z.strictObject({ data: dictionary(z.unknown()), created: timestamp })) },
  failures: ["not-found", "intake-form-closed"],
  emits: ["CONTRACT_DATA_UPDATED"],
  cli: { command: "contracts intake-form update" },
  basis: "public",
  examples: [{ title: "Correct one answer", params: { composite_id: "T-1" }, body: { purpose: "Renewal" } }],
});

export const showQuestionnaireResponses = operation({
  id: "intake-form.responses",
  service: contracts,
  summary: "Show the intake form answers of a contract",
  method: "GET",
  path: "/api/v2.1/public/contracts/{contract_id}/questionnaire/responses/",
  auth: "api-key",
  request: {
    params: z.object({ contract_id: contractIdParam }),
    query: z.object({
      questionnaire_type: z
        .enum(["INTAKE_FORM", "TEMPLATE"])
        .describe("Kind of form: intake form, or attributes of the template"),
    }),
  },
  responses: {
    200: json(
      z.strictObject({
        questionnaire_response_data: dictionary(z.unknown()),
        respondents: z.array(z.strictObject({ created_at: timestamp, created_by: z.string(), org_name: z.string() })),
      }),
    ),
  },
  failures: ["not-found"],
  cli: { command: "contracts intake-form show" },
  basis: "public",
  examples: [{ title: "The intake form", params: { contract_id: 1 }, query: { questionnaire_type: "INTAKE_FORM" } }],
});
