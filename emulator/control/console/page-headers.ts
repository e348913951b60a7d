/** Nothing but our own files, which can make no markup of texts; nobody may frame the page, and it sends no form. */
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

/** What the page of the console is sent with. It is asked for anew each time: the names of its files are in it. */
export const pageHeaders = {
  "cache-control": "no-store",
  "content-security-policy": Object.entries(policy)
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "origin-agent-cluster": "?1",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};
