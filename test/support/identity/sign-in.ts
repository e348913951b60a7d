import { createHash } from "node:crypto";
import { type Answer, type Sent, sender, type TestEmulator } from "../emulator.ts";

export const authorizePath = "/api/v1/oauth/authorize/";
export const tokenPath = "/api/v1/oauth/token/";
export const callback = "http://127.0.0.1:8123/callback";
export const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

export const challengeOf = (secret: string): string => createHash("sha256").update(secret).digest("base64url");

/** The parameters of an authorization request that is all right. */
export const request = {
  client_id: "demo-cli",
  response_type: "code",
  redirect_uri: callback,
  code_challenge: challengeOf(verifier),
  code_challenge_method: "S256",
  scope: "openid profile email",
  state: "af0ifjsldkj",
};

/** Changes to a request: undefined leaves a parameter out. */
export type Changes = Readonly<Record<string, string | undefined>>;

export const changed = (base: Changes, changes: Changes): string =>
  String(
    new URLSearchParams(
      Object.entries({ ...base, ...changes }).filter((pair): pair is [string, string] => pair[1] !== undefined),
    ),
  );

/** Sends an authorization request to the router, as a browser would. */
export const authorize = ({ router }: Pick<TestEmulator, "router">, changes: Changes = {}, sent: Sent = {}) =>
  router("GET", `${authorizePath}?${changed(request, changes)}`, sent);

/** The parameters that an answer sends back to the client; the place it sends them to under "". */
export function sentBack({ headers }: Answer): Record<string, string> {
  const location = new URL(headers.get("location") ?? "none:");
  return { "": `${location.origin}${location.pathname}`, ...Object.fromEntries(location.searchParams) };
}

export const form = { "content-type": "application/x-www-form-urlencoded" };

/** Sends a token request as a form. */
export const requestToken = ({ router }: Pick<TestEmulator, "router">, fields: Changes, headers = {}) =>
  router("POST", tokenPath, { body: changed({}, fields), headers: { ...form, ...headers } });

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token: string;
  readonly scope: string;
}

/** The code of a user who signs in. */
export async function codeOf(world: Pick<TestEmulator, "router">, svc_user: string, changes: Changes = {}) {
  const answer = await authorize(world, { svc_user, ...changes });
  const { code } = sentBack(answer);
  if (code === undefined) throw new Error(`no code: ${answer.status} ${answer.headers.get("location")}`);
  return code;
}

/** The fields that exchange a code. */
export const exchange = (code: string) => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: callback,
  code_verifier: verifier,
  client_id: "demo-cli",
});

/** Signs a user in, all the way to the tokens. */
export async function signIn(
  world: Pick<TestEmulator, "router">,
  email: string,
  changes: Changes = {},
): Promise<Tokens> {
  const { status, body } = await requestToken(world, exchange(await codeOf(world, email, changes)));
  if (status !== 200) throw new Error(`no tokens: ${JSON.stringify(body)}`);
  return body as Tokens;
}

export const userinfo = ({ routerUrl }: Pick<TestEmulator, "routerUrl">, token: string) =>
  sender(routerUrl, { authorization: `Bearer ${token}` })("GET", "/api/v1/oauth/userinfo/");

/** What the request log found in what reached a cluster, oldest first. */
export async function findings({ ask }: Pick<TestEmulator, "ask">, cluster: string): Promise<object[]> {
  const { items } = (await ask("GET", "requests")).body as { items: { listener: string; findings: object[] }[] };
  return items.filter(({ listener }) => listener === cluster).flatMap(({ findings }) => findings);
}

/** A seed with one person, and a client that has a secret. */
export const confidential = {
  clusters: [{ id: "eu-1", label: "eu" }],
  workspaces: [{ id: 1, cluster_id: "eu-1", name: "W", acting_user_id: 1, organization_types: [], jurisdictions: [] }],
  users: [{ id: 1, workspace_id: 1, name: "Ada", email: "ada@northwind.example" }],
  oauth_clients: [{ client_id: "demo portal", client_name: "Portal", client_secret: "s3cret:+%" }],
} as const;

/** A part of a JWT, decoded: 0 its header, 1 its claims. */
export const decoded = (jwt: string, part: 0 | 1): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split(".")[part]!, "base64url").toString());
