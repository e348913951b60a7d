/** Returns the virtual time of a response of an emulator in milliseconds. Undefined for other services. */
export function readVirtualTime(headers: Readonly<Record<string, string>>): number | undefined {
  const ms = Date.parse(headers["x-svc-time"] ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
