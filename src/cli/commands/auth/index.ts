import type { Command } from "../../command.ts";
import { authCertify } from "./certify.ts";
import { authDeviceLogin } from "./device-login.ts";
import { authLogout, authRefresh, authStatus, authToken } from "./tokens.ts";

export const commands: readonly Command[] = [
  authDeviceLogin,
  authStatus,
  authToken,
  authRefresh,
  authLogout,
  authCertify,
];
