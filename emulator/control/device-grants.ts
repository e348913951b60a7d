import type { Handlers } from "../http/handler.ts";
import { reply } from "../http/reply.ts";
import { oauthClients } from "../oauth-clients.ts";
import { hiddenFields, html, page, pageHeaders } from "../page.ts";
import { grantOfUserCode } from "../router/device-grants.ts";
import { approve, type Unapproved } from "./device-approval.ts";
import { formToken, requireFormToken } from "./form-token.ts";
import type { ControlWorld } from "./home.ts";

const why: Readonly<Record<Unapproved, string>> = {
  unknown: "No device waits under this code.",
  expired: "This code has expired. Let the device ask for a new one.",
  decided: "Somebody has decided about this code already.",
  "no-cluster": "The emulator has no such cluster.",
  "no-person": "No active user of that cluster has this address.",
};

export const deviceGrantHandlers: Handlers<
  `device-grants.${"approve" | "page" | "submit"}`,
  Pick<ControlWorld, "store" | "clock" | "wall" | "ids" | "clusters" | "instance">,
  unknown
> = {
  "device-grants.approve": async ({ params: { user_code }, body }, world) => {
    const { store, fail } = world;
    const decided = await store.transaction("device-grants.approve", async (tx) => {
      const given = await approve(tx, world, { ...body, user_code });
      switch (given) {
        case "unknown":
          return fail("no-such-user-code", { code: user_code });
        case "expired":
          return fail("user-code-expired", { code: user_code });
        case "decided":
          return fail("user-code-decided", { code: user_code });
        case "no-cluster":
          return fail("no-such-cluster-here", { cluster: body.cluster_id ?? "" });
        case "no-person":
          return fail("no-such-person", { email: body.email ?? "" });
        default:
          return given;
      }
    });
    return { user_code, status: decided.status, cluster_id: decided.cluster_id ?? "" };
  },

  "device-grants.page": async ({ query: { user_code } }, world) =>
    reply(200, user_code === undefined ? entry() : await question(world, user_code), pageHeaders()),

  "device-grants.submit": async ({ body }, world) => {
    const { form_token, email, ...said } = body;
    requireFormToken(world, about(body.user_code), form_token, world.fail);
    const decided = await world.store.transaction("device-grants.submit", (tx) =>
      approve(tx, world, { ...said, email: email || undefined }),
    );
    const shown =
      typeof decided === "string" ? entry(why[decided]) : page("Done", html`<p>${outcome[said.status]}</p>`);
    return reply(200, shown, pageHeaders());
  },
};

const outcome = {
  AUTHORIZED: "The device is approved. It will notice within seconds.",
  DENIED: "The device is denied.",
} as const;

const about = (userCode: string): string => `device ${userCode}`;

/** The page that asks for a code. */
const entry = (problem?: string): string =>
  page(
    "Connect a device",
    html`${problem === undefined ? undefined : html`<p role="alert">${problem}</p>`}
<form method="get"><label>Code on the device: <input name="user_code" autocomplete="off" required></label>
<button>Go on</button></form>`,
  );

/** The page that asks whether the device of a code may go on. */
async function question(
  world: Pick<ControlWorld, "store" | "clock" | "clusters" | "instance">,
  userCode: string,
): Promise<string> {
  const { store, clock, clusters } = world;
  const found = await store.read(async (view) => {
    const grant = await grantOfUserCode(view, userCode);
    return grant && { grant, client: await view.get(oauthClients, grant.client_id) };
  });
  if (!found) return entry(why.unknown);
  if (found.grant.expires_at <= clock.now()) return entry(why.expired);
  if (found.grant.status !== "PENDING") return entry(why.decided);

  const bound = found.grant.cluster_id;
  const choices = clusters
    .filter(({ id }) => (bound ?? id) === id)
    .map(({ id, label }) => html`<option value="${id}">${id} (${label})</option>`);
  return page(
    "Connect a device",
    html`<p>${found.client?.client_name ?? found.grant.client_id} asks for access. The device shows
<strong>${userCode}</strong>.</p>
<form method="post">${hiddenFields({ user_code: userCode, form_token: formToken(world, about(userCode)) })}
<p><label>Cluster: <select name="cluster_id">${choices}</select></label></p>
<p><label>E-mail address of the user (may stay empty): <input name="email" type="email"></label></p>
<button name="status" value="AUTHORIZED">Approve</button> <button name="status" value="DENIED">Deny</button></form>`,
  );
}
