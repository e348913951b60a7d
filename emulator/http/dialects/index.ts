import { isOAuthRequest, type Operation } from "../../../src/api/operation.ts";
import type { Service } from "../../../src/api/services.ts";
import { control } from "./control.ts";
import type { Dialect } from "./dialect.ts";
import { fastapi } from "./fastapi.ts";
import { oauth } from "./oauth.ts";
import { platform } from "./platform.ts";

export const dialects: Readonly<Record<Service["dialect"], Dialect>> = { fastapi, platform, control };

/** How what an operation refuses is worded. */
export const dialectOf = ({ service, request: { body } }: Operation): Dialect =>
  isOAuthRequest(body) ? oauth : dialects[service.dialect];
