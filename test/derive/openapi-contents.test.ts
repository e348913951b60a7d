import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { activities } from "../../src/api/activities.ts";
import * as declarations from "../../src/api/registry.ts";
import { buildOpenApi, type DocumentedService, documentedServices } from "../../src/derive/openapi.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document of unknown depth, compared with literals.
const buildDocument = (service: DocumentedService): any =>
  JSON.parse(JSON.stringify(buildOpenApi(service, declarations)));

/** The models of the specification's table (Resources and their fields). */
const models = `HealthCheckResponse ClusterEmailDomain ClusterClientDomain ClusterInfoDomain ContractSignatoryDomainModel
  BulkClusterEmailRequest BulkClusterClientCreateRequest BulkClusterInviteTokenCreateRequest
  BulkClusterChatATeamIDRequest BulkClusterIntegrationRequest WorkspaceExternalIntegrationDelete
  DeleteWorkspaceDataRequest TrialSignupRequest TrialSignupDomainModel InvitedUser TrialOrgSignUpRequest
  DeviceGrantTokenCreateRequest DeviceGrantTokenResponse AccessTokenGetRequest ClientCreateRequest ClientResponse
  DeviceGrantUpdateRequest LoginV2Request MailerWebhookAPIRequest SignedRequestForm CaptchaConfigResponse
  HTTPValidationError ValidationError ExternalServiceIntegrationType OAuthGrantType OAuthProviderType StatusType`;

const namePayload = (activity: string) =>
  `${activity
    .split("_")
    .map((word) => `${word[0]}${word.slice(1).toLowerCase()}`)
    .join("")}Payload`;

/** Generators of clients make a type of each schema, so a name that changes breaks programs. */
const schemaNames: Readonly<Record<DocumentedService, string>> = {
  router: `AccessTokenGetRequest BulkClusterChatATeamIDRequest BulkClusterClientCreateRequest
    BulkClusterEmailRequest BulkClusterIntegrationRequest BulkClusterInviteTokenCreateRequest
    CaptchaConfigResponse ClientCreateRequest ClientResponse ClusterClientDomain ClusterEmailDomain
    ClusterInfoDomain ContractSignatoryDomainModel DeleteWorkspaceDataRequest DeviceGrantTokenCreateRequest
    DeviceGrantTokenResponse DeviceGrantUpdateRequest ExternalServiceIntegrationType HealthCheckResponse
    InvitedUser LoginV2Request MailerWebhookAPIRequest OAuthGrantType OAuthProviderType ProviderSignIn SignedRequestForm
    StatusType TokenResponse TrialOrgSignUpRequest TrialSignupDomainModel TrialSignupRequest Userinfo
    WorkspaceExternalIntegrationDelete Detail DetailOrOAuthError HTTPValidationError ValidationError
    OAuthError`,
  contracts: `ActivityData AddressActivityData CommentActivityData ContactActivityData CounterpartyActivityData
    EmailActivityData KeyPointerActivityData MailerActivityData NotificationActivityData SendingActivityData
    Address AddressRequest Assignee Attribute Comment Contact CounterPartyDetails
    CounterpartyRecord CreateContractRequest CreateIntakeRequest CreatedContract ExternalMetadata
    ExternalMetadataRequest ImportExecutedRequest IntakeDetail IntakeRecord IntakeStatus KeyPointer
    ListedContract NumberedContract OrgUser OrganizationAddress PocDetails Priority RecipientRecord RoleRecord
    SendRequest SignatoryDetails Subscription SubscriptionRequest Task TemplateRecord UpdateIntakeRequest
    UploadRequest UploadReviewRequest UploadSignRequest Uploads WebhookCounterparty WebhookEntity WebhookPerson
    DomainError DomainErrorOrDetail DomainErrorOrDetailOrFieldErrors Detail DetailOrFieldErrors FieldErrors
    ${activities.map(namePayload).join(" ")}`,
  emulator: `Clock Cluster DeliveryOutcome Device Email Fault InboxRow Invitation InvitedUser
    ListedDelivery LoggedRequest MovedContract OAuthProviderType Owner Priority Readiness Snapshot TokenInfo
    TraceNode Webhook WorkspaceInfo DomainError DomainErrorOrControlError
    DomainErrorOrDetailOrControlError Detail DetailOrControlError ControlError`,
};

describe("content of the OpenAPI documents", () => {
  for (const service of documentedServices) {
    it(`has the published schema names of ${service}`, () => {
      const names = Object.keys(buildDocument(service).components.schemas);
      assert.deepEqual(names.sort(), schemaNames[service].split(/\s+/).sort());
    });
  }

  it("includes every model in the specification of the routing service", () => {
    const { schemas } = buildDocument("router").components;
    assert.deepEqual(
      models.split(/\s+/).filter((name) => !(name in schemas)),
      [],
    );
  });

  it("describes validation errors in FastAPI's format", () => {
    const { HTTPValidationError, ValidationError } = buildDocument("router").components.schemas;
    assert.deepEqual(HTTPValidationError.properties.detail.items, { $ref: "#/components/schemas/ValidationError" });
    assert.deepEqual(ValidationError.properties.loc, {
      type: "array",
      items: { anyOf: [{ type: "string" }, { type: "integer" }] },
    });
  });

  it("describes the 401 of userinfo for the router and the verifying cluster", () => {
    const { responses } = buildDocument("router").paths["/api/v1/oauth/userinfo/"].get;
    const { content, "x-failures": failures } = responses[401];
    assert.deepEqual(content["application/json"].schema, { $ref: "#/components/schemas/DetailOrOAuthError" });
    assert.deepEqual(
      Object.values(content["application/json"].examples).map((example) => (example as { value: unknown }).value),
      [
        { detail: "Not authenticated" },
        { detail: "Invalid access token" },
        {
          error: "invalid_token",
          error_description: "The access token is altered or expired, or its user is no longer active",
        },
      ],
    );
    assert.deepEqual(
      failures.map(({ code }: { code: string }) => code),
      ["no-access-token", "invalid-token", "refused-token"],
    );
  });

  it("describes what clients of OAuth read, and the provider that they choose", () => {
    const { paths } = buildDocument("router");
    const responseOf = ([path, method]: readonly [string, string]) =>
      paths[path][method].responses[200].content["application/json"]?.schema.$ref;
    const requests = [
      ["/router/v1/oauth2.0/token/", "post"],
      ["/api/v1/oauth/token/", "post"],
      ["/api/v1/oauth/userinfo/", "get"],
      ["/router/v1/trial/signup/oauth", "get"],
      ["/api/v1/svc_auth/oauth/login", "get"],
      ["/api/v1/svc_auth/oauth/signup", "get"],
    ] as const;
    assert.deepEqual(
      requests.map(responseOf),
      ["TokenResponse", "TokenResponse", "Userinfo", "ProviderSignIn", "ProviderSignIn", "ProviderSignIn"].map(
        (name) => `#/components/schemas/${name}`,
      ),
    );
    for (const [path] of requests.slice(3)) {
      const [{ name, schema }] = paths[path].get.parameters;
      assert.deepEqual(
        { name, schema },
        { name: "provider", schema: { $ref: "#/components/schemas/OAuthProviderType" } },
      );
    }
  });

  it("lists the headers of failures, which are required if every failure of the status sets them", () => {
    const text = { schema: { type: "string" } };
    const headersOf = (path: string, method: string, status: number, service: DocumentedService = "router") =>
      buildDocument(service).paths[path][method].responses[status].headers;
    assert.deepEqual(headersOf("/api/v2.1/public/templates/", "get", 429, "contracts"), {
      "retry-after": { required: true, ...text },
    });
    assert.deepEqual(headersOf("/router/v1/oauth2.0/token/", "post", 503)["retry-after"], { required: false, ...text });
    assert.equal(headersOf("/router/v1/oauth2.0/token/", "post", 422), undefined);
  });

  it("requires a body if the handler does", () => {
    const required = (service: DocumentedService, path: string) =>
      buildDocument(service).paths[path].post.requestBody.required;
    assert.equal(required("contracts", "/api/v2.1/public/contracts/{contract_id}/review_request/"), true);
    assert.equal(required("contracts", "/api/v2.1/public/contracts/{composite_id}/send_to_counterparties"), false);
    assert.equal(required("router", "/api/v1/oauth/token/"), true);
    const [form] = Object.values<{ schema: { required?: string[] } }>(
      buildDocument("router").paths["/api/v1/oauth/token/"].post.requestBody.content,
    );
    assert.deepEqual(form?.schema.required, ["grant_type"]);
  });

  for (const service of ["router", "contracts"] as const) {
    it(`does not require any nullable field of ${service}`, () => {
      assert.deepEqual(findRequiredNullableFields(buildDocument(service).paths, service), []);
      assert.deepEqual(findRequiredNullableFields(buildDocument(service).components.schemas, service), []);
    });
  }

  it("includes the payload of each of the 39 activities by name", () => {
    const { webhooks, components } = buildDocument("contracts");
    assert.deepEqual(Object.keys(webhooks), [...activities]);
    assert.equal(webhooks.CONTRACT_SIGNED.post.operationId, "webhook.contract-signed");
    // Many generators make no types of webhooks, but all make types of components.
    assert.deepEqual(webhooks.CONTRACT_SIGNED.post.requestBody.content["application/json"].schema, {
      $ref: "#/components/schemas/ContractSignedPayload",
    });
    const { properties, required } = components.schemas.ContractSignedPayload;
    assert.deepEqual(properties.activity, { type: "string", const: "CONTRACT_SIGNED" });
    assert.deepEqual(required, [
      "activity",
      "activity_data",
      "contract_id",
      "contract_title",
      "contract_type",
      "contract_type_name",
      "contract_type_id",
      "contract_status",
      "contract_kind",
      "business_user",
      "created_at",
    ]);
  });

  it("gives webhooks no tag, because generators would replace the client of the operations with that tag", () => {
    const { webhooks } = buildDocument("contracts");
    const tagged = Object.keys(webhooks).filter((activity) => "tags" in webhooks[activity].post);
    assert.deepEqual(tagged, []);
  });

  it("includes valid samples and named field errors", () => {
    const { components } = buildDocument("contracts");
    assert.equal(components.parameters.UserEmail.example, "ada@northwind.example");
    assert.deepEqual(Object.keys(components.schemas.FieldErrors.properties), ["non_field_errors"]);
  });

  it("states which fields require or exclude each other", () => {
    const { paths } = buildDocument("emulator");
    const bodyOf = (path: string, method: string) =>
      paths[`/_emulator/${path}`][method].requestBody.content["application/json"].schema;
    assert.deepEqual(bodyOf("clock/advance", "post").oneOf, [
      { required: ["by"] },
      { required: ["to"] },
      { required: ["next"] },
      { required: ["until_idle"] },
    ]);
    assert.deepEqual(bodyOf("clock", "put").anyOf, [{ required: ["mode"] }, { required: ["speed"] }]);
    assert.deepEqual(bodyOf("activities", "post").not, { required: ["payload", "data"] });
    assert.deepEqual(bodyOf("faults", "post").else.required, ["effect"]);
  });

  for (const service of ["router", "contracts", "emulator"] as const) {
    it(`describes formats and lists of ${service} in terms that common tools support`, () => {
      const strange: string[] = [];
      const look = (value: unknown, at: string): void => {
        if (typeof value !== "object" || value === null) return;
        const { type, format, items, prefixItems } = value as Record<string, unknown>;
        const isSchema = typeof type === "string";
        if (isSchema && format !== undefined && !/^(date-time|date|email|uri|uuid|int64|binary)$/.test(String(format)))
          strange.push(`${at}: format ${format}`);
        if (isSchema && (typeof items === "boolean" || prefixItems !== undefined)) strange.push(`${at}: a tuple`);
        const isMoment = /\/(created|at|now|timestamp|\w+_(at|datetime|due))$/.test(at);
        if (type === "string" && isMoment && format !== "date-time") strange.push(`${at}: no date-time`);
        for (const [name, part] of Object.entries(value)) look(part, `${at}/${name}`);
      };
      const { paths, components, webhooks } = buildDocument(service);
      look({ paths, components, webhooks }, "");
      assert.deepEqual(strange, []);
    });
  }
});

/** Locations where a document requires a nullable field. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
function findRequiredNullableFields(part: any, position: string): string[] {
  if (typeof part !== "object" || part === null) return [];
  const required: unknown[] = Array.isArray(part.required) ? part.required : [];
  const fields = Object.entries<{ type?: unknown; anyOf?: readonly { type?: unknown }[] } | null>(
    part.properties ?? {},
  );
  const isNullable = ({ type, anyOf = [] }: { type?: unknown; anyOf?: readonly { type?: unknown }[] }) =>
    [type, ...anyOf.map((each) => each.type)].flat().includes("null");
  const nullableFields = fields.flatMap(([name, field]) =>
    required.includes(name) && field && isNullable(field) ? [`${position}.${name}`] : [],
  );
  return [
    ...nullableFields,
    ...Object.entries(part).flatMap(([key, value]) => findRequiredNullableFields(value, `${position}.${key}`)),
  ];
}
