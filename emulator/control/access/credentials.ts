import { isAllowed } from "../../../src/api/control-plane.ts";
import { type Fail, fail } from "../../../src/api/failures.ts";
import { getRequiredRole } from "../../../src/api/operation.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { parseBearerToken } from "../../../src/schemes/http-authorization.ts";
import { type ControlTokens, controlTokens, localToken } from "../../domain/control-tokens.ts";
import { findCookie } from "../../domain/session-cookie.ts";
import { type Workspace, workspaces } from "../../domain/workspaces.ts";
import { addHeartbeats } from "../../http/event-stream.ts";
import type { Authenticators } from "../../http/handler.ts";
import { type EventFrames, reply } from "../../http/reply.ts";
import type { View } from "../../store/port.ts";
import { type ConsoleSessions, type ControlCaller, type ControlTokenInfo, getCookieName } from "../console/sessions.ts";
import type { ControlContext, ControlHandlers } from "../context.ts";

interface KnownCaller {
  readonly token: string;
  readonly tokens: ControlTokens;
  readonly sessions: ConsoleSessions;
}

const runFileToken: ControlTokenInfo = { name: localToken, role: "admin", hash: undefined };

/**
 * Authenticates a bearer token, or the token of a console session with its cookie (DECISIONS.md, E7, E13). A cookie
 * alone is never enough, because browsers send it to every port of this machine. Only this function checks the required
 * role.
 */
export const createAuthenticators = (context: KnownCaller) =>
  ({
    "control-token": ({ headers }, { operation, logEntry }): ControlCaller => {
      const credential = parseBearerToken(headers.authorization);
      if (credential === undefined) return fail("no-control-token");
      const caller = findCaller(credential, headers.cookie, context) ?? fail("unknown-control-token");
      logEntry.caller = caller.token.name;
      logEntry.tokenHash = caller.token.hash;
      logEntry.workspaceId = caller.token.workspace?.id;
      const { name: token, role } = caller.token;
      const requiredRole = getRequiredRole(operation);
      if (requiredRole !== undefined && !isAllowed(role, requiredRole))
        return fail("insufficient-role", { token, role, needs: requiredRole });
      return caller;
    },
  }) satisfies Authenticators;

function findCaller(
  credential: string,
  cookies: string | undefined,
  { token, tokens, sessions }: KnownCaller,
): ControlCaller | undefined {
  if (isEqualInConstantTime(credential, token)) return { token: runFileToken, session: undefined };
  const opener = sessions.findOpener(credential, findCookie(getCookieName(credential), cookies) ?? "");
  if (opener) return isValid(opener, tokens) ? { token: opener, session: credential } : undefined;
  const controlToken = tokens.use(credential);
  if (controlToken === undefined) return undefined;
  const { name, role, hash, workspace_id: id, workspace } = controlToken;
  const workspaceField = id === undefined ? {} : { workspace: { id, name: workspace ?? "" } };
  return { token: { name, role, hash, ...workspaceField }, session: undefined };
}

/** Format of the emulator's own token and of tokens from `tokens.create`. */
const createdTokens = /svc_[\w-]{43}/g;
const tokenPattern = /(?<![\w-])[\w-]{43}(?![\w-])/g;
const mask = "[redacted]";

/** Removes every credential of the control plane, which may have been sent to another server by mistake. */
export const createTokenMask =
  ({ token, sessions }: Pick<KnownCaller, "token" | "sessions">) =>
  (text: string): string => {
    const masked = text
      .replace(createdTokens, mask)
      .replace(tokenPattern, (candidate) => (candidate === token || sessions.getExpiryMs(candidate) ? mask : candidate))
      .replace(/^(bearer\s+)(\S+)(\s*)$/i, (match, scheme, credential) =>
        credential === token ? `${scheme}${mask}` : match,
      );
    // A short token that a user chose can be part of any word, so it is not masked.
    return token.length < 16 ? masked : masked.replaceAll(token, mask);
  };

/** A session ends with its token, even if another token gets the same name. */
const isValid = ({ name, hash }: ControlTokenInfo, tokens: ControlTokens): boolean =>
  hash === undefined || tokens.exists({ name, hash });

type WatchedAccess = Pick<ControlContext, "store" | "tokens" | "sessions" | "wall"> & {
  readonly caller: ControlCaller;
  readonly request: { readonly signal: AbortSignal };
};

/**
 * Returns a signal for long responses. It is aborted when the caller disconnects, when the token is revoked or when the
 * session ends. `release` stops watching, and so does a disconnect.
 */
export function watchAccess({ caller, request, store, tokens, sessions, wall }: WatchedAccess) {
  const [accessEnd, release] = [new AbortController(), new AbortController()];
  const isAuthorized = () =>
    (caller.session === undefined || sessions.getExpiryMs(caller.session) !== undefined) &&
    isValid(caller.token, tokens);
  const checkAccess = () => {
    if (!isAuthorized()) accessEnd.abort();
  };
  const unwatchers = [store.watch([controlTokens], checkAccess), sessions.watch(checkAccess)];
  const stopWatching = () => {
    release.abort();
    for (const stop of unwatchers) stop();
  };
  const expiryMs = caller.session === undefined ? undefined : sessions.getExpiryMs(caller.session);
  if (expiryMs !== undefined) void wall.sleep(expiryMs - wall.monotonicNow(), release.signal).then(checkAccess);
  request.signal.addEventListener("abort", stopWatching, { once: true });
  // The access may have ended since the request was accepted.
  checkAccess();
  return {
    signal: AbortSignal.any([request.signal, accessEnd.signal]),
    hasEnded: () => accessEnd.signal.aborted,
    release: stopWatching,
  };
}

/** Yields the items of a stream, and heartbeats, while the caller has access. */
export async function* streamWhileAllowed<T>(
  access: WatchedAccess,
  follow: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncGenerator<T | EventFrames, void> {
  const { signal, release } = watchAccess(access);
  try {
    yield* addHeartbeats(follow(signal), access.wall);
  } finally {
    release();
  }
}

/** Finds a workspace by its ID, or else by its name in any case. Trial users choose the name of theirs. */
function findWorkspaceByName(view: View, idOrName: string, fail: Fail<"no-such-workspace-name">): Workspace {
  const allWorkspaces = view.list(workspaces);
  const workspace =
    allWorkspaces.find(({ id }) => String(id) === idOrName) ??
    allWorkspaces.find(({ name }) => name.toLowerCase() === idOrName.toLowerCase());
  return workspace ?? fail("no-such-workspace-name", { name: idOrName, known: allWorkspaces.map(({ name }) => name) });
}

export const tokenHandlers = {
  "tokens.create": async ({ params: { name }, body: { role, workspace: workspaceName } }, { tokens, fail }) => {
    const findWorkspace =
      workspaceName === undefined ? undefined : (view: View) => findWorkspaceByName(view, workspaceName, fail);
    const created = (await tokens.create(name, role, findWorkspace)) ?? fail("token-name-taken", { name });
    return reply(201, { name, role, ...created }, { "cache-control": "no-store" });
  },

  "tokens.list": (_, { tokens }) =>
    tokens
      .list()
      .map(({ name, role, workspace, created_at, last_used_at }) => ({
        name,
        role,
        ...(workspace !== undefined && { workspace }),
        created_at: toIsoMillis(created_at),
        last_used_at: last_used_at === null ? null : toIsoMillis(last_used_at),
      })),

  "tokens.revoke": async ({ params: { name } }, { tokens, fail }) => {
    if (!(await tokens.revoke(name))) fail("no-such-token", { name });
    return undefined;
  },
} satisfies ControlHandlers;
