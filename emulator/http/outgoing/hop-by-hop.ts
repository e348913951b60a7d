/** RFC 9110, 7.6.1, and what belongs to one connection or one message framing alone. */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  // Clients refuse to send it on, and the server has answered it.
  "expect",
  // Counted anew from the body, or said once more.
  "content-length",
]);
