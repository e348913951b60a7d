import { lookupTable } from "../../../src/base/lookup-table.ts";
import type { Finding, ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import type { ClusterWorld } from "../world.ts";
import { authorize } from "./authorize.ts";
import { deviceToken } from "./device-token.ts";
import { configuration, keySet } from "./metadata.ts";
import { beginWithProvider, endWithProvider } from "./provider-sign-in.ts";
import { tokenEndpoint } from "./token-endpoint.ts";
import { userinfo } from "./userinfo.ts";

type Answer = (request: ReceivedRequest, world: ClusterWorld, finding: Finding) => Promise<Passthrough>;

/** What a cluster's identity answers to what the router forwards, by method and path. */
export const identityAnswers = lookupTable<Answer>({
  "GET /.well-known/openid-configuration": configuration,
  "GET /.well-known/jwks.json": keySet,
  "GET /api/v1/oauth/authorize/": authorize,
  "POST /api/v1/oauth/authorize/": authorize,
  "POST /api/v1/oauth/token/": tokenEndpoint,
  "GET /api/v1/oauth/userinfo/": userinfo,
  "POST /api/v1/oauth/userinfo/": userinfo,
  "POST /router/v1/oauth2.0/token/": deviceToken,
  "GET /api/v1/svc_auth/oauth/login": beginWithProvider("login"),
  "GET /api/v1/svc_auth/oauth/callback": endWithProvider("login"),
  "GET /api/v1/svc_auth/oauth/signup": beginWithProvider("signup"),
  "GET /api/v1/svc_auth/oauth/signup/callback": endWithProvider("signup"),
});
