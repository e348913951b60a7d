import { createHash } from "node:crypto";
import { createSender, type TestEmulator, type TestRequest, type TestResponse } from "../emulator.ts";

export const authorizePath = "/api/v1/oauth/authorize/";
export const tokenPath = "/api/v1/oauth/token/";
export const callbackUrl = "http://127.0.0.1:8123/callback";
export const pkceVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

export const computeChallenge = (secret: string): string => createHash("sha256").update(secret).digest("base64url");

/** Parameters of a valid authorization request. */
export const authorizationRequest = {
  client_id: "demo-cli",
  response_type: "code",
  redirect_uri: callbackUrl,
  code_challenge: computeChallenge(pkceVerifier),
  code_challenge_method: "S256",
  scope: "openid profile email",
  state: "af0ifjsldkj",
};

/** Changes to the parameters of a request. Undefined removes a parameter. */
export type ParameterChanges = Readonly<Record<string, string | undefined>>;

export const formatParameters = (base: ParameterChanges, changes: ParameterChanges): string =>
  String(
    new URLSearchParams(
      Object.entries({ ...base, ...changes }).filter((pair): pair is [string, string] => pair[1] !== undefined),
    ),
  );

/** Sends an authorization request to the router like a browser. */
export const authorize = (
  { router }: Pick<TestEmulator, "router">,
  changes: ParameterChanges = {},
  request: TestRequest = {},
) => router("GET", `${authorizePath}?${formatParameters(authorizationRequest, changes)}`, request);

/** Returns the parameters of a redirect to the client, with the redirect URI under "". */
export function getRedirectParameters({ headers }: TestResponse): Record<string, string> {
  const location = new URL(headers.get("location") ?? "none:");
  return { "": `${location.origin}${location.pathname}`, ...Object.fromEntries(location.searchParams) };
}

export const formHeaders = { "content-type": "application/x-www-form-urlencoded" };

/** Sends a token request as a form. */
export const requestToken = ({ router }: Pick<TestEmulator, "router">, fields: ParameterChanges, headers = {}) =>
  router("POST", tokenPath, { body: formatParameters({}, fields), headers: { ...formHeaders, ...headers } });

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token: string;
  readonly scope: string;
}

/** Signs a user in and returns the authorization code. */
export async function getAuthorizationCode(
  emulator: Pick<TestEmulator, "router">,
  svc_user: string,
  changes: ParameterChanges = {},
) {
  const response = await authorize(emulator, { svc_user, ...changes });
  const { code } = getRedirectParameters(response);
  if (code === undefined) throw new Error(`no code: ${response.status} ${response.headers.get("location")}`);
  return code;
}

/** Returns the form fields that exchange a code. */
export const createExchangeFields = (code: string) => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: callbackUrl,
  code_verifier: pkceVerifier,
  client_id: "demo-cli",
});

/** Signs a user in and returns the tokens. */
export async function signIn(
  emulator: Pick<TestEmulator, "router">,
  email: string,
  changes: ParameterChanges = {},
): Promise<Tokens> {
  const { status, body } = await requestToken(
    emulator,
    createExchangeFields(await getAuthorizationCode(emulator, email, changes)),
  );
  if (status !== 200) throw new Error(`no tokens: ${JSON.stringify(body)}`);
  return body as Tokens;
}

export const getUserinfo = ({ routerUrl }: Pick<TestEmulator, "routerUrl">, token: string) =>
  createSender(routerUrl, { authorization: `Bearer ${token}` })("GET", "/api/v1/oauth/userinfo/");

/** Lists the findings of the request log about requests to a cluster, oldest first. */
export async function listFindings({ control }: Pick<TestEmulator, "control">, cluster: string): Promise<object[]> {
  const { items } = (await control("GET", "requests")).body as { items: { listener: string; findings: object[] }[] };
  return items.filter(({ listener }) => listener === cluster).flatMap(({ findings }) => findings);
}

/** A seed with one person and a client that has a secret. */
export const confidentialClientSeed = {
  clusters: [{ id: "eu-1", label: "eu" }],
  workspaces: [{ id: 1, cluster_id: "eu-1", name: "W", acting_user_id: 1, organization_types: [], jurisdictions: [] }],
  users: [{ id: 1, workspace_id: 1, name: "Ada", email: "ada@northwind.example" }],
  oauth_clients: [{ client_id: "demo portal", client_name: "Portal", client_secret: "s3cret:+%" }],
} as const;

/** Decodes a part of a JWT, where 0 is the header and 1 the claims. */
export const decodeJwtPart = (jwt: string, part: 0 | 1): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split(".")[part]!, "base64url").toString());
