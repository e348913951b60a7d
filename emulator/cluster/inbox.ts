import { findUnemulatedRoute } from "../../src/api/contracts/unemulated-routes.ts";
import { lookupTable } from "../../src/base/object.ts";
import { isCaptchaTester, readConnectedApps } from "../domain/apps.ts";
import { newWorkspacePath } from "../domain/workspaces.ts";
import { type BufferUsage, ByteBoundedLog, estimateStringBytes } from "../http/byte-bounded-log.ts";
import type { FindingReporter, ReceivedRequest } from "../http/handler.ts";
import { createJsonPassthrough, type Passthrough } from "../http/reply.ts";
import { parseRequestTarget } from "../http/routing/path.ts";
import { addCause } from "../store/causes.ts";
import { acceptBillingEvent, respondToChat } from "./apps.ts";
import type { ClusterContext, ForwardedHandler } from "./context.ts";
import { crmARoutes, crmBRoutes } from "./crm.ts";
import { acceptMailerEvent } from "./emails.ts";
import { identityRoutes } from "./identity/identity-routes.ts";
import { completeAppInstallation } from "./installations.ts";
import { respondToInvitation } from "./invitations/invite.ts";
import { handleRecipientPage } from "./recipient-pages/recipient-pages.ts";
import { createTrialWorkspace } from "./workspace/new-workspace.ts";

/**
 * Unknown paths of the contract API in any version (DECISIONS.md, C24), of the storage and of the control plane are
 * 404, also with several slashes in a row, which a base URL that ends in a slash causes. Only the router's listener
 * serves the control plane.
 */
const servedPaths = /^\/+(?:api\/+v\d+(?:\.\d+)?\/+public|_storage|_emulator)(?:\/|$)/;

const knownRoutes = lookupTable<ForwardedHandler>({
  "GET /api/v1/auth/captcha-config": (request, { store }) =>
    createJsonPassthrough(200, { use_test_captcha: isCaptchaTester(readConnectedApps(store), request) }),
  "POST /api/v1/emails/mailer/webhook": acceptMailerEvent,
  "POST /router/v1/billing/webhook": acceptBillingEvent,
  [`POST ${newWorkspacePath}`]: createTrialWorkspace,
  ...crmARoutes,
  ...crmBRoutes,
  ...identityRoutes,
});

const respondToKnownRoute: ForwardedHandler = async (request, context, finding) =>
  knownRoutes[`${request.method} ${request.parsedTarget.path}`]?.(request, context, finding);

const respondAsScripted: ForwardedHandler = ({ method, parsedTarget: { path } }, { store, cluster }) => {
  const { answers } = readConnectedApps(store);
  // A seed can contain the encoded or the decoded path.
  const matchesPath = (candidate: string) => candidate === path || parseRequestTarget(candidate).path === path;
  const script = answers.find(
    (each) => each.method === method && (each.cluster_id ?? cluster.id) === cluster.id && matchesPath(each.path),
  );
  return script && createJsonPassthrough(script.status, script.body, script.headers);
};

const handlers: readonly ForwardedHandler[] = [
  respondAsScripted,
  respondToKnownRoute,
  respondToChat,
  respondToInvitation,
  completeAppInstallation,
];

/**
 * Responds with the seed's script, as the cluster would, or with an echo. Returns undefined for a path that gets 404,
 * such as an unknown path under `--strict=paths` (DECISIONS.md, R38).
 */
export const createForwardedHandler =
  (cluster: ClusterContext, inbox: RequestInbox) =>
  async (request: ReceivedRequest, finding: FindingReporter): Promise<Passthrough | undefined> => {
    while (cluster.store.replacement) await cluster.store.replacement;
    const context = { ...cluster, store: addCause(cluster.store, request.cause) };
    // A person's browser requests this page directly, so the request is not in the inbox.
    const page = await handleRecipientPage(request, context, finding);
    if (page) return page;
    let response: Passthrough | undefined;
    for (const handle of handlers) response ??= await handle(request, context, finding);
    const { path } = request.parsedTarget;
    if (!response && servedPaths.test(path)) return respondUnemulated(path);
    response ??= respondWithEcho(request, context, finding);
    inbox.add({
      at: context.clock.now(),
      method: request.method,
      target: request.target,
      rawHeaders: request.rawHeaders,
      body: request.body,
      status: response?.status ?? 404,
    });
    return response;
  };

function respondWithEcho(
  { method, target }: ReceivedRequest,
  { cluster, settings }: ClusterContext,
  finding: FindingReporter,
) {
  if (settings.strict.has("paths")) return undefined;
  finding("unknown-path", "responded with an echo; the real cluster may not have this path");
  // The path is returned exactly as it was sent.
  return createJsonPassthrough(200, { cluster_id: cluster.id, method, path: target.split("?", 1)[0] });
}

/** Rejects a public route that the emulator does not have. Returns undefined if the service does not have it either. */
function respondUnemulated(path: string): Passthrough | undefined {
  const route = findUnemulatedRoute(path);
  if (route === undefined) return undefined;
  const message = `The emulator does not have this route (${route.subject}). The service has it, but these facts are not public: ${route.missing}.`;
  const hint = "Script a response in the seed (apps.answers).";
  return createJsonPassthrough(501, { error: { code: "not_built", message, hint } });
}

/** A forwarded request as it reached an emulated cluster. */
export interface InboxRow {
  readonly id: number;
  /** Virtual milliseconds. */
  readonly at: number;
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly status: number;
}

/** Many small strings would take three times as much memory, and a slice of the body would retain the whole chunk. */
interface PackedRow extends Omit<InboxRow, "rawHeaders" | "body"> {
  /** Alternating names and values, one per line, because no header contains a line end. */
  readonly head: string;
  /** One character for each byte. */
  readonly body: string;
}

const rowBytes = 120;

/** Requests that the router forwarded to one emulated cluster, in memory. The oldest are dropped first. */
export class RequestInbox {
  readonly #log: ByteBoundedLog<PackedRow>;
  readonly #hideSecrets: (text: string) => string;
  #lastId = 0;

  /** `hideSecrets` redacts secrets that readers of the inbox are not allowed to see. */
  constructor(maxBytes: number, hideSecrets = (text: string) => text) {
    this.#log = new ByteBoundedLog(maxBytes);
    this.#hideSecrets = hideSecrets;
  }

  add({ target, rawHeaders, body, ...rest }: Omit<InboxRow, "id">): void {
    this.#lastId += 1;
    const row = {
      ...rest,
      id: this.#lastId,
      target: this.#hideSecrets(target),
      head: rawHeaders.map(this.#hideSecrets).join("\n"),
      body: this.#hideSecrets(body.toString("latin1")),
    };
    this.#log.add(
      row,
      rowBytes + estimateStringBytes(row.target) + estimateStringBytes(row.head) + estimateStringBytes(row.body),
    );
  }

  get amount(): BufferUsage {
    return this.#log.amount;
  }

  list(): readonly InboxRow[] {
    return this.#log
      .list()
      .map(({ head, body, ...rest }) => ({ ...rest, rawHeaders: head.split("\n"), body: Buffer.from(body, "latin1") }));
  }

  clear(): void {
    this.#log.clear();
    this.#lastId = 0;
  }
}
