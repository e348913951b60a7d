import { formatPolicy, html } from "../../http/page.ts";
import { reply } from "../../http/reply.ts";
import type { ConsoleBundle, ControlHandlers } from "../context.ts";
import { codeLifetimeMs, getCookieName, sessionLifetimeMs } from "./sessions.ts";

/** Assets have relative URLs, so they also work behind a proxy with any path. */
const renderPage = ({ script, style, icon }: ConsoleBundle): string =>
  html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>svc emulator</title>
<meta name="color-scheme" content="light dark">
<link rel="icon" type="image/svg+xml" href="assets/${icon}">
<link rel="stylesheet" href="assets/${style}">
<script type="module" src="assets/${script}"></script></head>
<body><div id="console"></div>
<noscript><p>The console requires JavaScript. Every action is also a command: svc emulator --help.</p></noscript></body>
</html>
`.text;

/** Reports whether brotli is listed without a weight of zero (RFC 9110, 12.5.3). */
const acceptsBrotli = (acceptEncoding: string | undefined): boolean =>
  (acceptEncoding ?? "").split(",").some((coding) => /^\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding));

/** A cookie without a path has the path of the control plane, also behind a proxy. */
const setCookie = (origin: string, cookie: string) => ({
  "set-cookie": `${cookie}; HttpOnly; SameSite=Strict${origin.startsWith("https:") ? "; Secure" : ""}`,
});

export const consoleHandlers = {
  "console.page": async (_, { readConsole }) => reply(200, renderPage(await readConsole()), pageHeaders),

  "console.asset": async ({ params: { name } }, { readConsole, request, fail }) => {
    const { assets } = await readConsole();
    const { type, bytes, brotliBytes } = assets.get(name) ?? fail("no-such-asset", { name });
    const isBrotliAccepted = acceptsBrotli(request.headers["accept-encoding"]);
    return reply(200, isBrotliAccepted ? brotliBytes : bytes, {
      "content-type": type,
      ...(isBrotliAccepted ? { "content-encoding": "br" } : {}),
      vary: "accept-encoding",
      "cache-control": "public, max-age=31536000, immutable",
      "cross-origin-resource-policy": "same-origin",
    });
  },

  "sessions.code": (_, { request, sessions, caller }) => {
    const code = sessions.createCode(caller.token);
    const expires_in = codeLifetimeMs / 1_000;
    return reply(201, { code, url: `${request.origin}/_emulator/ui/#code=${code}`, expires_in });
  },

  "sessions.begin": ({ body: { code } }, { sessions, instance, request, fail }) => {
    const { token, key, role } = sessions.begin(code) ?? fail("invalid-session-code");
    const cookie = setCookie(request.origin, `${getCookieName(token)}=${key}; Max-Age=${sessionLifetimeMs / 1_000}`);
    return reply(201, { token, role, instance_id: instance.id }, { "cache-control": "no-store", ...cookie });
  },

  "sessions.end": (_, { sessions, request, caller }) => {
    if (caller.session !== undefined) {
      sessions.end(caller.session);
      return reply(204, undefined, setCookie(request.origin, `${getCookieName(caller.session)}=; Max-Age=0`));
    }
    if (caller.token.role === "admin" && caller.token.workspace === undefined) sessions.endAll();
    else sessions.endAllOf(caller.token);
    return reply(204, undefined);
  },
} satisfies ControlHandlers;

/** Only the console's own files are allowed, which create no markup from strings. */
const policy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
  "require-trusted-types-for": "'script'",
  "trusted-types": "'none'",
};

/** Headers of the console page. The page is never cached, because it contains the names of its files. */
const pageHeaders = {
  "cache-control": "no-store",
  "content-security-policy": formatPolicy(policy),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "origin-agent-cluster": "?1",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};
