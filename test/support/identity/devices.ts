import type { TestEmulator, TestResponse } from "../emulator.ts";

export const deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code";
export const tokenExchangeType = "urn:ietf:params:oauth:grant-type:token-exchange";

/** A device that has started its authorization. */
export interface Device {
  readonly device_code: string;
  readonly user_code: string;
  /** Polls once for the token. */
  poll(changes?: Readonly<Record<string, unknown>>): Promise<TestResponse>;
  /** Reports the decision on the device in the name of a cluster. */
  decide(status: string, cluster_id?: string, user_code?: string): Promise<TestResponse>;
}

/** Requests the codes of a device for the demo seed's client. */
export async function startDeviceAuthorization(
  { router }: Pick<TestEmulator, "router">,
  client_id = "demo-cli",
): Promise<Device> {
  const response = await router("POST", "/router/v1/oauth2.0/device/code/", { body: { client_id } });
  if (response.status !== 200) throw new Error(`no device code: ${JSON.stringify(response.body)}`);
  const { device_code, user_code } = response.body as { device_code: string; user_code: string };
  return {
    device_code,
    user_code,
    poll: (changes = {}) =>
      router("POST", "/router/v1/oauth2.0/token/", {
        body: { device_code, client_id, grant_type: deviceGrantType, ...changes },
      }),
    decide: (status, cluster_id = "eu-1", code = user_code) =>
      router("POST", "/router/v1/oauth2.0/device/cluster_info/", { body: { user_code: code, status, cluster_id } }),
  };
}

/** Creates an error response of RFC 6749, 5.2. */
export const createOAuthError = (error: string, status = 400) => ({ status, body: { error } });
