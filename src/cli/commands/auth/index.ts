import type { Command } from "../../command.ts";
import { authCertify } from "./certify.ts";
import { authDeviceLogin } from "./device-login.ts";
import { authLogout } from "./logout.ts";
import { authRefresh } from "./refresh.ts";
import { authStatus } from "./status.ts";
import { authToken } from "./token.ts";

export const commands: readonly Command[] = [
  authDeviceLogin,
  authStatus,
  authToken,
  authRefresh,
  authLogout,
  authCertify,
];
