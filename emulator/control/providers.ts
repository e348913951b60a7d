import { calculateJwkThumbprint, importJWK, SignJWT } from "jose";
import type { submitProviderPage } from "../../src/api/emulator/installations.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { createPrivateJwk } from "../cluster/identity/signing-keys.ts";
import { type AppInstallation, appInstallations, beginAppInstallation } from "../cluster/installations.ts";
import { chatBKeys, listPublicChatBKeys, readConnectedApps } from "../domain/apps.ts";
import {
  buildAuthorizationUrl,
  buildProviderRedirect,
  issueProviderCode,
  type ProviderVisit,
} from "../domain/provider.ts";
import { workspaces } from "../domain/workspaces.ts";
import { inTransaction } from "../http/handler.ts";
import {
  allowExternalFormAction,
  createPage,
  type HtmlPage,
  html,
  renderErrorBanner,
  renderHiddenFields,
} from "../http/page.ts";
import { reply } from "../http/reply.ts";
import {
  type ControlContext,
  type ControlHandlers,
  createCsrfToken,
  createListHandler,
  requireCsrfToken,
  sendPage,
} from "./context.ts";

type ProviderForm = InputOf<typeof submitProviderPage>["body"];

const formatVisitKey = ({ flow, provider, state, destination = "" }: ProviderVisit): string =>
  `provider ${flow} ${provider} ${destination} ${state}`;

export const providerHandlers = {
  "provider.page": ({ query }, context) => sendPage(renderQuestion(context, query)),

  "provider.submit": inTransaction((tx, { body }, context) => {
    const { ids, settings, fail } = context;
    requireCsrfToken(context, formatVisitKey(body), body.form_token, fail);
    const { provider, name } = body;
    const redirectBack = (parameters: Readonly<Record<string, string>>) =>
      reply(303, buildProviderRedirect(settings.publicUrl, body, parameters));
    if (body.flow === "install" && body.decision === "deny") return redirectBack({ error: "access_denied" });
    const account = (isForTeam(body) ? body.team_id : body.email).trim();
    const problem = isForTeam(body)
      ? !/^\S+$/.test(account) && invalidTeamMessage
      : !/^[^\s@]+@[^\s@]+$/.test(account) && invalidAddressMessage;
    if (problem) return sendPage(renderQuestion(context, body, body, problem));
    return redirectBack({ code: issueProviderCode(tx, ids, { provider, account, name }) });
  }),

  "installations.list": createListHandler(appInstallations, (row) => toProviderRecord(row)),

  "installations.begin": inTransaction((tx, { params: { app }, body: { workspace_id, approve_as } }, context) => {
    const { clusters, ids, settings, fail } = context;
    const [first] = tx.list(workspaces, { limit: 1 });
    const workspace = workspace_id === undefined ? first : tx.get(workspaces, workspace_id);
    if (!workspace) return fail("no-such-workspace", { id: workspace_id ?? 1 });
    const installation = beginAppInstallation(tx, context, app, workspace);
    const { destinations } = clusters.find(({ id }) => id === installation.cluster_id)!;
    const destination = destinations.includes("default") ? "default" : destinations[0];
    const { state } = installation;
    const chatDestination = app === "chat_a" ? destination : undefined;
    const providerVisit = { flow: "install", provider: app, state, destination: chatDestination } as const;
    const account = approve_as === undefined ? undefined : { provider: app, account: approve_as, name: approve_as };
    const code = account ? issueProviderCode(tx, ids, account) : null;
    return reply(201, {
      ...toProviderRecord(installation),
      state,
      authorization_url: buildAuthorizationUrl(settings.publicUrl, providerVisit),
      code,
      redirect_url: code === null ? null : buildProviderRedirect(settings.publicUrl, providerVisit, { code }),
    });
  }),

  "chat-b-issuer.mint": async ({ body }, context) => {
    const { chat_b: app } = readConnectedApps(context.store);
    if (app.openid_metadata_url !== null) context.fail("foreign-issuer", { url: app.openid_metadata_url });
    const { kid, jwk } = await getIssuerKey(context);
    const now = Math.floor(context.wall.now() / 1_000);
    const token = await new SignJWT({
      iss: body.issuer ?? app.issuer,
      aud: body.app_id ?? app.app_id,
      ...(body.service_url === undefined ? {} : { serviceurl: body.service_url }),
      iat: now,
      nbf: now + body.not_before,
      exp: now + body.expires_in,
      ...body.claims,
    })
      .setProtectedHeader({ alg: "RS256", typ: "JWT", kid })
      .sign(await importJWK({ ...jwk, kty: "RSA" }, "RS256"));
    return { token, token_type: "Bearer" as const, expires_in: body.expires_in, kid };
  },

  "chat-b-issuer.metadata": (_, { store, settings }) => ({
    issuer: readConnectedApps(store).chat_b.issuer,
    jwks_uri: `${settings.publicUrl}/_emulator/chat-b/keys`,
    id_token_signing_alg_values_supported: ["RS256"],
  }),

  "chat-b-issuer.keys": async (_, context) => {
    await getIssuerKey(context);
    return { keys: listPublicChatBKeys(context.store).map((key) => ({ ...key })) };
  },
} satisfies ControlHandlers;

const invalidTeamMessage = "The team ID must not be empty or contain spaces.";
const invalidAddressMessage = "The e-mail address is not valid.";

const isForTeam = ({ flow, provider }: ProviderVisit): boolean => flow === "install" && provider === "chat_a";

/** Renders the form, which is submitted to the callback of the flow, possibly at a real back end. */
function renderQuestion(
  context: Pick<ControlContext, "instance">,
  { flow, provider, state, destination }: ProviderVisit,
  { email, team_id, name }: Partial<ProviderForm> = {},
  problem?: string,
): HtmlPage {
  const visit = { flow, provider, state, ...(destination !== undefined && { destination }) };
  const hiddenFields = renderHiddenFields({ ...visit, form_token: createCsrfToken(context, formatVisitKey(visit)) });
  const account = isForTeam(visit)
    ? html`<label>Team ID: <input name="team_id" value="${team_id}" autocomplete="off" required></label>`
    : html`<label>E-mail address: <input name="email" type="email" value="${email}" required></label>`;
  const buttons =
    flow === "install"
      ? html`<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="other" formnovalidate>Deny</button>`
      : html`<button>Sign in</button>`;
  return createPage(
    flow === "install" ? `Connect ${provider}` : `Sign in with ${provider}`,
    html`${renderErrorBanner(problem)}
<p>${flow === "install" ? installText : signInText}</p>
<form method="post">${hiddenFields}
<p>${account}</p>
<p><label>Name: <input name="name" value="${name}"></label></p>
<p>${buttons}</p></form>`,
    allowExternalFormAction,
  );
}

const signInText = "The emulator acts as this provider. Enter any account.";
const installText = "A workspace of svc requests a connection. The emulator acts as this service. Choose any account.";

const toProviderRecord = ({ state: _, begun_at, ended_at, ...row }: AppInstallation) => ({
  ...row,
  begun_at: toIsoMillis(begun_at),
  ended_at: ended_at === null ? null : toIsoMillis(ended_at),
});

/** The key is created on first use, because creating it takes longer than starting an emulator. */
async function getIssuerKey({ store, settings }: Pick<ControlContext, "store" | "settings">) {
  const [storedKey] = store.list(chatBKeys);
  if (storedKey) return storedKey;
  const { app_id: appId } = readConnectedApps(store).chat_b;
  const jwk = await createPrivateJwk(settings.deterministic ? `chat_b\0${appId}` : undefined);
  const kid = await calculateJwkThumbprint(jwk);
  return store.transaction("make the key of chat_b", (tx) => {
    // Concurrent requests can each create a key. The first stored key is used.
    const [storedRow] = tx.list(chatBKeys);
    if (storedRow) return storedRow;
    const row = { kid, jwk: { ...jwk } };
    tx.put(chatBKeys, row);
    return row;
  });
}
